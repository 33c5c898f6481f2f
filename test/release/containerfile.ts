// Reads from the Containerfile what an image runs.

import { readFileSync } from "node:fs";

export const CONTAINERFILE = new URL("../../ops/container/Containerfile", import.meta.url);

export interface ImageSettings {
	/** User of the image, as uid:gid. */
	user: string;
	folder: string;
	volume: string;
	environment: Readonly<Record<string, string>>;
	/** Path of the executable in the image. */
	executable: string;
	command: readonly string[];
	healthCheck: readonly string[];
}

export function readContainerfile(): ImageSettings {
	const lines = readFileSync(CONTAINERFILE, "utf8")
		.replace(/^#.*\n/gm, "")
		.replace(/\\\n/g, " ")
		.split("\n");
	const ask = (instruction: string): string => {
		const found = lines.filter((line) => line.startsWith(`${instruction} `));
		const [line] = found;
		if (line === undefined || found.length > 1)
			throw new Error(`${instruction} is there ${found.length} times`);
		return line.slice(instruction.length).trim();
	};
	const words = ask("ENV").split(/\s+/);
	return {
		user: ask("USER"),
		folder: ask("WORKDIR"),
		volume: ask("VOLUME"),
		environment: Object.fromEntries(words.map((word) => word.split("=", 2))),
		executable: ask("COPY").split(/\s+/).at(-1) ?? "",
		command: [...readList(ask("ENTRYPOINT")), ...readList(ask("CMD"))],
		healthCheck: readList(ask("HEALTHCHECK").replace(/^.* CMD /, "")),
	};
}

function readList(text: string): string[] {
	const read: unknown = JSON.parse(text);
	if (!Array.isArray(read)) throw new Error(`${text} is run by a shell, which the image need not have`);
	return read.map(String);
}
