// `npm run docs`: writes what the code decides into docs/receiver-guide.md, and the version that shops install into every
// document that names it. A test fails while that is not done.

import { readFileSync, writeFileSync } from "node:fs";
import receiverPackage from "../receiver/package.json" with { type: "json" };

const NAMING_THE_PACKAGE = [
	"README.md",
	"docs/api.md",
	"docs/receiver-guide.md",
	"examples/README.md",
	"examples/node/receiver.mjs",
	"examples/node/sender.mjs",
	"receiver/README.md",
];
const PRESENT = `ringback-receiver-${receiverPackage.version}.tgz`;

for (const path of NAMING_THE_PACKAGE) {
	rewrite(path, (text) => text.replaceAll(/ringback-receiver-[\w.-]+?\.tgz/g, PRESENT));
}
// Only now: the examples are read when it is loaded.
const { buildGuide } = await import("../src/web/docs/guide-build.ts");
rewrite("docs/receiver-guide.md", buildGuide);

function rewrite(path: string, change: (text: string) => string): void {
	const file = new URL(`../${path}`, import.meta.url);
	const before = readFileSync(file, "utf8");
	const after = change(before);
	if (after === before) return;
	writeFileSync(file, after);
	console.log(`${path} was written`);
}
