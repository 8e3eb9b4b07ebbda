// The suite imports a function that Node has from version 22 on, for a command that is not used here.
process.getBuiltinModule('node:fs').globSync ??= () => [];
