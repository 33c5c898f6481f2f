// `npm run docs` writes the parts of documents that the code decides (generated.ts), the fields in the library of shops
// (receiver-fields.ts), the files that the operations guide shows and the versions of the packages that shops install. Tests
// fail until it has been run. Then it renders the pages
// of the product (rendered-pages.ts).

import { globSync, readFileSync, writeFileSync } from "node:fs";
import pluginPackage from "../integrations/vendure/package.json" with { type: "json" };
import receiverPackage from "../receiver/package.json" with { type: "json" };
import { GENERATED_IN, writeGenerated } from "./generated.ts";
import { RECEIVER_FIELDS, writeReceiverFields } from "./receiver-fields.ts";
import { writeRenderedPages } from "./rendered-pages.ts";

const FILES_NAMING_THE_PACKAGE = [
	"docs/api.md",
	"docs/downloads.md",
	"docs/quick-start.md",
	"examples/README.md",
	"examples/node/receiver.mjs",
	"examples/node/sender.mjs",
	"integrations/vendure/README.md",
	"receiver/README.md",
];
const ROOT = new URL("../", import.meta.url);
const CURRENT_PACKAGE = `ringback-receiver-${receiverPackage.version}.tgz`;
const CURRENT_PLUGIN = `ringback-vendure-plugin-${pluginPackage.version}.tgz`;

for (const path of FILES_NAMING_THE_PACKAGE) {
	rewrite(path, (text) =>
		text
			.replaceAll(/ringback-receiver-[\w.-]+?\.tgz/g, CURRENT_PACKAGE)
			.replaceAll(/ringback-vendure-plugin-[\w.-]+?\.tgz/g, CURRENT_PLUGIN),
	);
}
for (const path of GENERATED_IN) rewrite(path, writeGenerated);
rewrite(RECEIVER_FIELDS, writeReceiverFields);

const SHOWN_FILE = /(^<!-- file: (\S+) -->\n```\w*\n).*?^```$/gms;
for (const path of globSync("docs/operations/*.md", { cwd: ROOT })) {
	rewrite(path, (text) =>
		text.replaceAll(
			SHOWN_FILE,
			(_, before: string, file: string) => `${before}${readFileSync(new URL(file, ROOT), "utf8")}\`\`\``,
		),
	);
}

writeRenderedPages();

function rewrite(path: string, change: (text: string) => string): void {
	const file = new URL(path, ROOT);
	const before = readFileSync(file, "utf8");
	const after = change(before);
	if (after === before) return;
	writeFileSync(file, after);
	console.log(`${path} was written`);
}
