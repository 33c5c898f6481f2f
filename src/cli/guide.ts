// The texts that come with the program, for those who have nothing but its file, or a service that does not start:
// `ringback guide` prints the operations guide as it is written, `ringback licences` those of all its parts.

import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { GUIDE_PARTS, GUIDE_SAMPLES, GUIDE_START, type GuideFile, readGuide } from "../operations-guide.ts";
import { isExecutable, readShippedBytes, readShippedFile } from "../shipped-files.ts";
import { type Command, EXIT, type Screen } from "./command.ts";

export const guideCommand: Command = {
	name: "guide",
	summary:
		"Prints the operations guide (Markdown): which parts it has, one of them, or what it says of an alert, a setting or a metric. Staff read the same in the product, under Docs.",
	argument: {
		value: "PART",
		help: "a part such as postgresql, an alert such as RingbackDown, a setting, a metric, or the words of a heading",
		isOptional: true,
	},
	options: {
		samples: {
			type: "string",
			value: "FOLDER",
			help: "write the files that go with it there, into a folder that is empty or new: alert rules, dashboard, settings of other programs",
		},
	},
	async run(options, screen) {
		const folder = options.text("samples");
		if (folder !== "") return writeSamples(folder, screen);
		const text = findText(options.argument);
		if (text === null) {
			screen.error(`The guide says nothing under "${options.argument}". Its parts:\n\n${listParts()}`);
			return EXIT.usage;
		}
		screen.out(text);
		return EXIT.ok;
	},
};

export const licencesCommand: Command = {
	name: "licences",
	summary: "Prints the licences of Ringback and of every part it is made of.",
	options: {},
	async run(_options, screen) {
		screen.out(readShippedFile(isExecutable ? "LICENSES.txt" : "LICENSE").trimEnd());
		if (!isExecutable)
			screen.out("\nThe packages it uses have their own licences beside them, in node_modules/.");
		return EXIT.ok;
	},
};

function findText(asked: string): string | null {
	if (asked === "")
		return `${readMarkdown(GUIDE_START)}\n\nringback guide PART prints one of:\n\n${listParts()}`;
	const part = GUIDE_PARTS.find(({ name }) => name === asked.toLowerCase());
	if (part !== undefined) return readMarkdown(part);
	for (const each of [GUIDE_START, ...GUIDE_PARTS]) {
		const lines = readMarkdown(each).split("\n");
		const found = findSection(lines, asked) ?? findRow(lines, asked);
		if (found !== null) return found.join("\n").trim();
	}
	return null;
}

/** Without the comments, which are for the tests of its commands. */
function readMarkdown(part: GuideFile): string {
	return readGuide(part)
		.replace(/^<!--.*-->\n/gm, "")
		.trim();
}

/** What stands below a heading, up to the next of its kind. */
function findSection(lines: readonly string[], asked: string): readonly string[] | null {
	let isCode = false;
	const depths = lines.map((line) => {
		if (line.startsWith("```")) isCode = !isCode;
		// In code it is a comment of the shell's.
		return isCode ? 0 : line.search(/(?<=^#+) /);
	});
	const at = lines.findIndex((line, index) => (depths[index] ?? 0) > 0 && sameWords(line, asked));
	if (at === -1) return null;
	const end = depths.findIndex((depth, index) => index > at && depth > 0 && depth <= (depths[at] ?? 0));
	return lines.slice(at, end === -1 ? undefined : end);
}

/** A row of a table that begins with these words, below the table's head. */
function findRow(lines: readonly string[], asked: string): readonly string[] | null {
	const at = lines.findIndex((line) => line.startsWith("| ") && sameWords(line.split("|")[1] ?? "", asked));
	if (at === -1) return null;
	const before = lines.findLastIndex((line, index) => index < at && !line.startsWith("|"));
	return [...lines.slice(before + 1, before + 3), lines[at] ?? ""];
}

function sameWords(one: string, other: string): boolean {
	const words = (text: string) =>
		text
			.toLowerCase()
			.replace(/[^\p{Letter}\p{Number}]+/gu, " ")
			.trim();
	return words(one) === words(other);
}

function listParts(): string {
	const width = Math.max(...GUIDE_PARTS.map(({ name }) => name.length));
	return GUIDE_PARTS.map(({ name, label }) => `  ${name.padEnd(width)}  ${label}`).join("\n");
}

/** Into a folder with nothing in it: no file that was changed to fit is lost, and no link leads elsewhere. */
function writeSamples(folder: string, screen: Screen): number {
	mkdirSync(folder, { recursive: true });
	if (readdirSync(folder).length > 0) {
		screen.error(`${folder} is not empty: choose another folder. Nothing was written.`);
		return EXIT.failed;
	}
	for (const path of GUIDE_SAMPLES) {
		const file = join(folder, path.replace(/^ops\//, ""));
		mkdirSync(dirname(file), { recursive: true });
		writeFileSync(file, readShippedBytes(path), { flag: "wx" });
		screen.out(file);
	}
	return EXIT.ok;
}
