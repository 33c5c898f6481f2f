// `npm run docs`: writes what the code decides into the documents (generated.ts), files that the operations guide shows
// into its parts, and the version that shops install wherever it is named. A test fails while that is not done.

import { globSync, readFileSync, writeFileSync } from "node:fs";
import receiverPackage from "../receiver/package.json" with { type: "json" };
import { GENERATED_IN, writeGenerated } from "./generated.ts";

const NAMING_THE_PACKAGE = [
	"docs/api.md",
	"docs/downloads.md",
	"docs/receiver-guide.md",
	"examples/README.md",
	"examples/node/receiver.mjs",
	"examples/node/sender.mjs",
	"receiver/README.md",
];
const ROOT = new URL("../", import.meta.url);
const PRESENT = `ringback-receiver-${receiverPackage.version}.tgz`;

for (const path of NAMING_THE_PACKAGE) {
	rewrite(path, (text) => text.replaceAll(/ringback-receiver-[\w.-]+?\.tgz/g, PRESENT));
}
for (const path of GENERATED_IN) rewrite(path, writeGenerated);

const SHOWN_FILE = /(^<!-- file: (\S+) -->\n```\w*\n).*?^```$/gms;
for (const path of globSync("docs/operations/*.md", { cwd: ROOT })) {
	rewrite(path, (text) =>
		text.replaceAll(
			SHOWN_FILE,
			(_, before: string, file: string) => `${before}${readFileSync(new URL(file, ROOT), "utf8")}\`\`\``,
		),
	);
}

function rewrite(path: string, change: (text: string) => string): void {
	const file = new URL(path, ROOT);
	const before = readFileSync(file, "utf8");
	const after = change(before);
	if (after === before) return;
	writeFileSync(file, after);
	console.log(`${path} was written`);
}
