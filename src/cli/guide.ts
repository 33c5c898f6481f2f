// `ringback guide`: the operations guide on a terminal, for whoever has nothing but this program, or a service that does
// not start.

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
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
		mkdirSync(dirname(file), { recursive: true });
		try {
			writeFileSync(file, readShippedBytes(path), { flag: "wx" });
		} catch (error) {
			if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
			screen.error(`${file} is there already: choose another folder, or remove it.`);
			return EXIT.failed;
		}
		screen.out(file);
	}
	return EXIT.ok;
}
