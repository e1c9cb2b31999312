// The `.pto` language, all four levels. It accepts the whole design; what the compiler does not do yet is refused after
// parsing, by name (E0105). Types in expressions (`zeros(f32[8, 64])`) are ordinary index expressions.
//
// Kept so that a statement is told by its first two tokens, because that gives the best syntax errors: an instruction is
// a name followed by a name, everything else that starts with a name is an expression.
grammar Pto;

file : item* EOF ;

item
  : importItem
  | constItem
  | inlineItem
  | functionItem
  | pairItem
  ;

importItem : 'import' STRING ';' ;
constItem : 'const' name '=' expr ';' ;
inlineItem : 'fn' name '(' (name (',' name)* ','?)? ')' ('=' expr ';' | block) ;

functionItem
  : functionHead name dims? parameters results? whereClause? block
  ;
functionHead
  : fused='fused'? 'graph'
  | 'kernel'
  | automatic='auto'? 'core' kind=IDENT
  | 'program'
  ;
dims : '[' (dim (',' dim)* ','?)? ']' ;
dim : name ('=' expr)? ;
parameters : '(' (parameter (',' parameter)* ','?)? ')' ;
results : '->' '(' (parameter (',' parameter)* ','?)? ')' ;
parameter : inout='inout'? name ':' type ('=' expr)? ;
whereClause : 'where' expr (',' expr)* ;

// A cube and a vec program that run as one cluster.
pairItem
  : 'core' 'pair' name dims? parameters results? whereClause? '=' '(' pairMember (',' pairMember)* ','? ')'
    ('lanes' lanes=expr)? ';'
  ;
pairMember : kind=name ':' core=name ;

type
  : tile='tile' name '[' expr ',' expr (';' validRows=expr ',' validCols=expr)? ']' typeAttribute*
  | name ('[' expr (',' expr)* ','? ']')? typeAttribute*
  ;
typeAttribute
  : 'layout' '(' layout=name ')'
  | strides='strides' '(' expr (',' expr)* ')'
  | 'in' space=name
  ;

block : '{' statement* '}' ;

statement
  : letStatement
  | parallelStatement
  | forStatement
  | whileStatement
  | ifStatement
  | returnStatement
  | bufStatement
  | ringStatement
  | bufferStatement
  | taskStatement
  | instructionStatement
  | expressionStatement
  ;

letStatement : kind=('let' | 'var') pattern (':' type)? ('=' expr)? ';' ;
pattern : name | tuple='(' name (',' name)* ','? ')' ;

parallelStatement : 'parallel' range (',' range)* parallelAttribute* block ;
parallelAttribute
  : 'split' split=name
  | 'pipeline' pipeline=expr
  ;
forStatement : 'for' range ('pipeline' pipeline=expr)? block ;
range : name 'in' lo=expr '..' hi=expr ('step' by=expr)? ;
whileStatement : 'while' expr block ;
ifStatement : 'if' expr block ('else' 'if' expr block)* ('else' block)? ;
returnStatement : 'return' expr? ';' ;

bufStatement : 'buf' name ':' type bufAttribute* ';' ;
bufAttribute
  : 'at' place=name ':' address=expr
  | 'slots' slots=expr
  | 'stride' stride=expr
  | 'layout' '(' layout=name ')'
  | 'in' space=name
  ;

ringStatement : 'ring' name ':' direction=name type ringAttribute* ';' ;
ringAttribute
  : 'slots' slots=expr
  | 'split' split=name
  ;

bufferStatement : 'buffer' name ':' type ('at' expr)? ';' ;
taskStatement : 'task' task=name '=' callee=name '(' (expr (',' expr)* ','?)? ')' taskAttribute* ';' ;
taskAttribute
  : 'blocks' blocks=expr
  | 'after' name (',' name)*
  ;

instructionStatement : mnemonic=name firstOperand (',' operand)* ';' ;
firstOperand : base=name ('[' slice (',' slice)* ']' | '->' arrow=name)? ;
operand : expr ('->' arrow=name)? ;

expressionStatement : expr (op=('=' | '+=' | '-=' | '*=' | '/=' | '%=') expr)? ';' ;

expr
  : base=expr '[' slice (',' slice)* ','? (';' validRows=expr ',' validCols=expr)? ']'  # indexExpr
  | callee=expr '(' (argument (',' argument)* ','?)? ')'              # callExpr
  | left=expr op='**' right=expr                                             # binaryExpr
  | op=('-' | '!' | '~') expr                                     # prefixExpr
  | left=expr op=('*' | '/' | '%') right=expr                                # binaryExpr
  | left=expr op=('+' | '-') right=expr                                      # binaryExpr
  | left=expr op=('<<' | '>>') right=expr                                    # binaryExpr
  | left=expr op=('<' | '<=' | '>' | '>=') right=expr                        # binaryExpr
  | left=expr op=('==' | '!=') right=expr                                    # binaryExpr
  | left=expr op='&' right=expr                                              # binaryExpr
  | left=expr op='^' right=expr                                              # binaryExpr
  | left=expr op='|' right=expr                                              # binaryExpr
  | left=expr op='&&' right=expr                                             # binaryExpr
  | left=expr op='||' right=expr                                             # binaryExpr
  | '(' expr ')'                                               # parenExpr
  | '[' (expr (',' expr)* ','?)? ']'                           # listExpr
  | INT                                                        # intExpr
  | FLOAT                                                      # floatExpr
  | STRING                                                     # stringExpr
  | name                                                       # nameExpr
  ;
argument : (argumentName ':')? expr ('layout' '(' layout=name ')')? ;
argumentName : 'in' | name ;
slice
  : start=expr (op=(':+' | ':') end=expr?)?
  | op=':' end=expr?
  ;

// Words of one statement only: still free as names.
name
  : IDENT
  | 'after' | 'at' | 'auto' | 'blocks' | 'buf' | 'buffer' | 'fused' | 'lanes' | 'layout' | 'pair' | 'pipeline' | 'ring'
  | 'slots' | 'split' | 'step' | 'stride' | 'strides' | 'task' | 'tile'
  ;

IDENT : [A-Za-z_] [A-Za-z0-9_]* ;
FLOAT : DIGITS '.' [0-9] [0-9_]* EXPONENT? | DIGITS EXPONENT ;
INT : '0' [xX] [0-9a-fA-F_]+ | DIGITS ;
STRING : '"' (~["\\\r\n] | '\\' .)* '"' ;
fragment DIGITS : [0-9] [0-9_]* ;
fragment EXPONENT : [eE] [+-]? [0-9]+ ;

DOC : '///' ~[\r\n]* -> channel(HIDDEN) ;
LINE_COMMENT : '//' ~[\r\n]* -> skip ;
BLOCK_COMMENT : '/*' .*? '*/' -> skip ;
SPACE : [ \t\r\n]+ -> skip ;
// So that the parser, which can say what it expected, is the one to report it.
UNKNOWN : . ;
