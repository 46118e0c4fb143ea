// Checks a plugin's manifest (stdin) as the console's build does: every extension against the schema of those that the
// console supports, and the manifest itself. Prints what is wrong, one line each.
const sdk = '@openshift-console/dynamic-plugin-sdk-webpack';
const { SchemaValidator } = require(`${sdk}/lib/validation/SchemaValidator.js`);
const extensions = require(`${sdk}/schema/console-extensions.json`);

const manifest = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
const problems = [];

function check(what, schema, value) {
  const validator = new SchemaValidator(what);
  validator.validate(schema, value);
  if (validator.result.hasErrors()) problems.push(`${what}: ${validator.result.getErrors().join('; ')}`);
}

check('manifest', require(`${sdk}/schema/plugin-manifest.json`), manifest);
for (const extension of manifest.extensions ?? []) {
  const definition = Object.values(extensions.definitions).find((d) => d.properties?.type?.const === extension.type);
  if (definition) check(extension.type, { definitions: extensions.definitions, ...definition }, extension);
  else problems.push(`${extension.type}: no such extension`);
}
process.stdout.write(problems.map((p) => `${p}\n`).join(''));
