// A separate folder for one language's examples, filled in for one brand and built. Programs that run in it see
// nothing of the machine's environment and end before the folder is removed.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import {
	mkdirSync,
	mkdtempSync,
	readdirSync,
	renameSync,
	rmdirSync,
	rmSync,
	symlinkSync,
	unlinkSync,
	writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import {
	EXAMPLE_LANGUAGES,
	type ExampleLanguage,
	type ExampleRole,
	type ExampleValues,
	fillIn,
} from "#core/web/examples.ts";
import { readExample } from "../../docs/source-files.ts";
import { COMPILE_CACHE } from "../support/compile-cache.ts";
import { portOf } from "../support/port-of.ts";
import { until } from "../support/until.ts";
import { endProcess, type Running, watchProcess } from "../support/watched-process.ts";
import { makeCallback, send } from "./callback.ts";
import { TOOLCHAINS } from "./toolchains.ts";

/** Second secret of every receiver, as during the replacement of a secret. */
export const OLDER_SECRET = "the-secret-of-before";

export interface RunningReceiver {
	readonly port: number;
	readonly process: Running;
	/** Returns all printed lines that name this conversion. */
	linesOf(conversionId: string): string[];
}

export interface StartOptions {
	/** Open file for the output. By default the output is captured. */
	stdout?: number;
	/** True if files are limited to 4 KiB, so that a write fails in the middle as on a full disk. */
	hasFullDisk?: boolean;
}

interface ShopPage {
	/** Value of the header Set-Cookie, or null if it is missing. */
	cookie: string | null;
	body: string;
}

export type ExampleFolder = Awaited<ReturnType<typeof openExamples>>;

const run = promisify(execFile);
/**
 * Command that limits files to eight blocks of 512 bytes. It ignores the signal that would end the process at
 * the ninth block.
 */
const WITH_FULL_DISK = ["sh", "-c", 'trap "" XFSZ; ulimit -f 8; exec "$@"', "sh"] as const;
const RECEIVER_PACKAGE = fileURLToPath(new URL("../../receiver", import.meta.url));

export async function openExamples(
	t: TestContext,
	language: ExampleLanguage,
	change: (text: string) => string,
) {
	const folder = mkdtempSync(join(tmpdir(), `ringback-example-${language}-`));
	const children: ChildProcess[] = [];
	t.after(async () => {
		await Promise.all(children.map(endProcess));
		rmSync(folder, { recursive: true });
	});
	const toolchain = TOOLCHAINS[language];
	const env = {
		PATH: process.env["PATH"] ?? "",
		HOME: folder,
		TMPDIR: folder,
		// Order IDs on the command line are UTF-8, which Java and Ruby would read as ASCII in the C locale.
		LANG: "C.UTF-8",
		GOCACHE: join(folder, "go-cache"),
		GOFLAGS: "-mod=mod",
		// The compile cache saves each Node process from stripping the types of the package's sources again.
		NODE_COMPILE_CACHE: COMPILE_CACHE,
	};
	// The folder looks like a shop's project that has the package installed.
	mkdirSync(join(folder, "code", "node_modules", "@ringback"), { recursive: true });
	symlinkSync(RECEIVER_PACKAGE, join(folder, "code", "node_modules", "@ringback", "receiver"));
	const sources = {
		folder,
		receiver: sourceOf(folder, language, "receiver"),
		sender: sourceOf(folder, language, "sender"),
		click: sourceOf(folder, language, "click"),
	};
	writeFileSync(sources.receiver, change(readExample(language, "receiver")));
	writeFileSync(sources.sender, change(readExample(language, "sender")));
	writeFileSync(sources.click, change(readExample(language, "click")));
	for (const [program, ...args] of toolchain.build?.(sources) ?? []) {
		await run(program, args, { cwd: folder, env });
	}
	const start = (
		[program, ...args]: readonly [string, ...string[]],
		settings: object,
		stdout: number | "pipe" = "pipe",
	): Running => {
		const stdio = ["pipe", stdout, "pipe"] as const;
		const child = spawn(program, args, { cwd: folder, env: { ...env, ...settings }, stdio: [...stdio] });
		children.push(child);
		return watchProcess(child);
	};

	return {
		/** True if another program listens and passes requests to the example. */
		isServedByCommand: toolchain.isServedByCommand ?? false,
		/** Reason why this machine cannot show that the answer comes before the work, or null. */
		whyNoSlowWork: toolchain.whyNoSlowWork ?? null,
		async startReceiver(
			secret: string,
			{ stdout, hasFullDisk = false }: StartOptions = {},
		): Promise<RunningReceiver> {
			const port = await findFreePort();
			const plain = toolchain.startReceiver(sources, port);
			const command = hasFullDisk ? ([...WITH_FULL_DISK, ...plain] as const) : plain;
			const secrets = secret === "" ? "" : `${OLDER_SECRET},${secret},`;
			const process = start(command, { PORT: String(port), RINGBACK_SIGNING_SECRET: secrets }, stdout);
			const isUp = async () => (await send(port, makeCallback({ secret: "another" }))) !== undefined;
			await until(
				async () => !process.isRunning || (await isUp()),
				() => `it does not listen; ${process.stderr}`,
			);
			return {
				port,
				process,
				linesOf: (conversionId) =>
					`${process.stdout}\n${process.stderr}`
						.split("\n")
						.filter((line) => line.includes(` ${conversionId} `)),
			};
		},
		/** Runs the sender with these arguments, and resolves when it has ended by itself. */
		runSender: (args: readonly string[], settings: Readonly<Record<string, string>>) => {
			const [program, ...first] = toolchain.startSender(sources);
			return start([program, ...first, ...args], settings).ended();
		},
		/** Opens a page of a shop that stores click IDs. The shell's example is started for each request. */
		async openShop(): Promise<(path: string, cookies: string) => Promise<ShopPage>> {
			const { startClick } = toolchain;
			if (startClick === null) {
				return async (path, cookies) => {
					const { search } = new URL(path, "http://shop.example");
					const cgi = { QUERY_STRING: search.slice(1), HTTP_COOKIE: cookies };
					const [head = "", body = ""] = (await start(["sh", sources.click], cgi).ended()).stdout.split(
						"\r\n\r\n",
					);
					return { cookie: /^Set-Cookie: (.*)$/m.exec(head)?.[1]?.trim() ?? null, body };
				};
			}
			const port = await findFreePort();
			const process = start(startClick(sources, port), { PORT: String(port) });
			const open = async (path: string, cookies: string) => {
				const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { cookie: cookies } });
				return { cookie: answer.headers.get("set-cookie"), body: await answer.text() };
			};
			const isUp = () => open("/", "").then(Boolean, () => false);
			await until(isUp, () => `it does not listen; ${process.stderr}`);
			return open;
		},
		/** Starts the receiver without a port setting, and without a secret if `secret` is empty. */
		startWithoutPort: (secret: string) =>
			start(toolchain.startReceiver(sources, 0), secret === "" ? {} : { RINGBACK_SIGNING_SECRET: secret }),
		/** Runs the shell's receiver, which checks saved files. */
		runReceiver: (args: readonly string[], secret: string) => {
			const [program, ...first] = toolchain.startReceiver(sources, 0);
			return start([program, ...first, ...args], { RINGBACK_SIGNING_SECRET: secret }).ended();
		},
		pathOf: (name: string) => join(folder, name),
		/** Lists every path in and below the folder, except a database's auxiliary files. */
		listFiles: () =>
			readdirSync(folder, { recursive: true, encoding: "utf8" })
				.filter((name) => !name.startsWith("postbacks.db"))
				.map((name) => join(folder, name)),
		/** Folder in which the receiver stores a file for each event, or null if it uses a database. */
		storeFolder: toolchain.store?.kind === "folder" ? join(folder, toolchain.store.name) : null,
		write(name: string, content: string | Uint8Array) {
			writeFileSync(join(folder, name), content);
			return join(folder, name);
		},
		/** Makes storing impossible while `during` runs. */
		async withoutStore(during: () => Promise<void>) {
			if (toolchain.store === null) throw new Error(`${language} stores nothing`);
			const { name, kind } = toolchain.store;
			const path = join(folder, name);
			renameSync(path, `${path}.away`);
			// The store is replaced by the other kind (file or folder), so that the receiver cannot create it
			// again. Removing permissions would not help, because root ignores them.
			if (kind === "folder") writeFileSync(path, "");
			else mkdirSync(path);
			try {
				await during();
			} finally {
				if (kind === "folder") unlinkSync(path);
				else rmdirSync(path);
				renameSync(`${path}.away`, path);
			}
		},
	};
}

/** Returns the file unchanged, for the default brand. */
export function asItStands(text: string): string {
	return text;
}

export function filledIn(values: ExampleValues): (text: string) => string {
	return (text) => fillIn(text, values);
}

function sourceOf(folder: string, language: ExampleLanguage, role: ExampleRole): string {
	const example = EXAMPLE_LANGUAGES.find(({ value }) => value === language);
	if (example === undefined) throw new Error(`there are no examples in ${language}`);
	return join(folder, "code", example[role]);
}

function findFreePort(): Promise<number> {
	return new Promise((resolve, reject) => {
		const server = createServer().once("error", reject);
		server.listen(0, "127.0.0.1", () => {
			const port = portOf(server);
			server.close(() => resolve(port));
		});
	});
}
