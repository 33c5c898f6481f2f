// `ringback guide`: the operations guide on a terminal, for whoever has nothing but this program, or a service that does
// not start.

import { lstatSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { GUIDE_PARTS, GUIDE_SAMPLES, GUIDE_START, readGuide } from "../operations-guide.ts";
import { readShippedBytes } from "../shipped-files.ts";
import { type Command, EXIT, type Screen } from "./command.ts";

export const guideCommand: Command = {
	name: "guide",
	summary:
		"Prints the operations guide: which parts it has, one of them, or what it says of an alert, a setting or a metric. Staff read the same in the product, under Docs.",
	argument: {
		value: "PART",
		help: "a part such as postgresql, an alert such as RingbackDown, a setting, a metric, or the words of a heading",
		isOptional: true,
	},
	options: {
		samples: {
			type: "string",
			value: "FOLDER",
			help: "write the files that go with it there: alert rules, dashboard, settings of other programs",
		},
	},
	async run(options, screen) {
		const folder = options.text("samples");
		if (folder !== "") return writeSamples(folder, screen);
		const text = await findText(options.argument);
		if (text === null) {
			screen.error(`The guide says nothing under "${options.argument}". Its parts:\n\n${listParts()}`);
			return EXIT.usage;
		}
		screen.out(text);
		return EXIT.ok;
	},
};

async function findText(asked: string): Promise<string | null> {
	// Loaded when it is needed: no other command reads Markdown.
	const { describeMarkdown, describeSection } = await import("./guide-text.ts");
	if (asked === "") return describeMarkdown(readGuide(GUIDE_START));
	const part = GUIDE_PARTS.find(({ name }) => name === asked.toLowerCase());
	if (part !== undefined) return describeMarkdown(readGuide(part));
	for (const each of [GUIDE_START, ...GUIDE_PARTS]) {
		const section = describeSection(readGuide(each), asked);
		if (section !== null) return section;
	}
	return null;
}

function listParts(): string {
	const width = Math.max(...GUIDE_PARTS.map(({ name }) => name.length));
	return GUIDE_PARTS.map(({ name, label }) => `  ${name.padEnd(width)}  ${label}`).join("\n");
}

/** Whole files, and none that is there already: it may have been changed to fit. */
function writeSamples(folder: string, screen: Screen): number {
	for (const path of GUIDE_SAMPLES) {
		const file = join(folder, path.replace(/^ops\//, ""));
		const inTheWay = makeFolders(folder, dirname(file)) ?? writeNew(file, readShippedBytes(path));
		if (inTheWay !== null) {
			screen.error(inTheWay);
			return EXIT.failed;
		}
		screen.out(file);
	}
	return EXIT.ok;
}

/** Where the folder itself leads is its owner's choice. A link below it was put there by somebody, and leads elsewhere. */
function makeFolders(folder: string, inner: string): string | null {
	mkdirSync(folder, { recursive: true });
	let path = folder;
	for (const name of relative(folder, inner).split(sep)) {
		path = join(path, name);
		if (!isRefused(() => mkdirSync(path)) || lstatSync(path).isDirectory()) continue;
		return `${path} is no folder but a link or a file, and nothing is written through it: choose another folder, or remove it.`;
	}
	return null;
}

function writeNew(file: string, bytes: Uint8Array): string | null {
	const isThere = isRefused(() => writeFileSync(file, bytes, { flag: "wx" }));
	return isThere ? `${file} is there already: choose another folder, or remove it.` : null;
}

/** Because something of this name is there, be it a link that leads nowhere. */
function isRefused(make: () => void): boolean {
	try {
		make();
		return false;
	} catch (error) {
		if (error instanceof Error && "code" in error && error.code === "EEXIST") return true;
		throw error;
	}
}
