// `ringback guide` prints the operations guide, and `ringback licences` prints the licences. Both texts are
// part of the program, so they can be read even if the service does not start.

import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { GUIDE_PARTS, GUIDE_SAMPLES, GUIDE_START, type GuideFile, readGuide } from "../operations-guide.ts";
import { isExecutable, readShippedBytes, readShippedFile } from "../shipped-files.ts";
import { type Command, CommandError, EXIT, type Screen } from "./command.ts";

export const guideCommand: Command = {
	name: "guide",
	summary:
		"Prints one part of the operations guide as Markdown, or the list of its parts. Staff find the same guide under Docs.",
	argument: { value: "PART", help: "a part such as postgresql or incidents", isOptional: true },
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
		screen.out(findText(options.argument));
		return EXIT.ok;
	},
};

export const licencesCommand: Command = {
	name: "licences",
	summary: "Prints the licences of Ringback and of all software that it contains.",
	options: {},
	async run(_options, screen) {
		screen.out(readShippedFile(isExecutable ? "LICENSES.txt" : "LICENSE").trimEnd());
		if (!isExecutable)
			screen.out("\nThe packages it uses have their own licences beside them, in node_modules/.");
		return EXIT.ok;
	},
};

function findText(asked: string): string {
	if (asked === "")
		return `${readMarkdown(GUIDE_START)}\n\nringback guide PART prints one of:\n\n${listParts()}`;
	const part = GUIDE_PARTS.find(({ name }) => name === asked.toLowerCase());
	if (part !== undefined) return readMarkdown(part);
	throw new CommandError(`The guide has no part "${asked}". Its parts:\n\n${listParts()}`);
}

/** Reads a part of the guide and removes its comments, which only the tests of the guide use. */
function readMarkdown(part: GuideFile): string {
	return readGuide(part)
		.replace(/^<!--.*-->\n/gm, "")
		.trim();
}

function listParts(): string {
	const width = Math.max(...GUIDE_PARTS.map(({ name }) => name.length));
	return GUIDE_PARTS.map(({ name, label }) => `  ${name.padEnd(width)}  ${label}`).join("\n");
}

/**
 * Writes the sample files. The folder must be empty, so that no edited file is overwritten and no symbolic
 * link is followed.
 */
function writeSamples(folder: string, screen: Screen): number {
	mkdirSync(folder, { recursive: true });
	if (readdirSync(folder).length > 0) {
		throw new CommandError(
			`${folder} is not empty. Choose another folder. Nothing was written.`,
			EXIT.failed,
		);
	}
	for (const path of GUIDE_SAMPLES) {
		const file = join(folder, path.replace(/^ops\//, ""));
		mkdirSync(dirname(file), { recursive: true });
		writeFileSync(file, readShippedBytes(path), { flag: "wx" });
		screen.out(file);
	}
	return EXIT.ok;
}
