// A shop's folder with the packed package and the README's programs. A node_modules above it has everything
// else that the programs import, where Node finds it.

import { match } from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { installPackage } from "../support/packed-package.ts";
import { type RunningProgram, type Settings, startProgram } from "../support/run-program.ts";
import { makeBusy, readPrograms, writePrograms } from "./readme-programs.ts";

export interface ShopFolder {
	folder: string;
	/** Starts a program that listens on a free port of this machine. */
	listen(command: string, args: readonly string[], settings: Settings): Promise<Listening>;
	/** Starts a program that need not listen. */
	start(command: string, args: readonly string[], settings?: Settings): RunningProgram;
	/** Ends all started programs and removes the folder. */
	close(): Promise<void>;
}

export interface Listening {
	program: RunningProgram;
	origin: string;
}

/** Script for `--import` that prints where a framework listens, because not all of them say so. */
export const ANNOUNCE = `data:text/javascript,${encodeURIComponent(`
	import { Server } from "node:net";
	const { emit } = Server.prototype;
	Server.prototype.emit = function (name, ...more) {
		if (name === "listening") console.log("listening on " + this.address().port);
		return emit.call(this, name, ...more);
	};
`)}`;
const LISTENING = /[Ll]istening on (?:http:\/\/127\.0\.0\.1:)?(\d+)/;

/** Opens a folder below `parent`, whose node_modules the programs use. */
export async function openShopFolder(parent: string): Promise<ShopFolder> {
	const folder = mkdtempSync(join(parent, "shop-"));
	const running: RunningProgram[] = [];
	await installPackage(folder);
	writePrograms(readPrograms(), folder);
	writePrograms(makeBusy(readPrograms()), folder);
	const start: ShopFolder["start"] = (command, args, settings) => {
		const program = startProgram(command, args, folder, settings);
		running.push(program);
		return program;
	};
	return {
		folder,
		start,
		async listen(command, args, settings) {
			const program = start(command, args, { PORT: "0", ...settings });
			const [, port = ""] = await program.said(LISTENING);
			match(port, /^[1-9]\d*$/);
			return { program, origin: `http://127.0.0.1:${port}` };
		},
		async close() {
			for (const program of running) await program.stop();
			rmSync(folder, { recursive: true });
		},
	};
}
