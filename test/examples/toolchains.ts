// Finds, builds and starts each language's examples on this machine, and names the Debian packages of its tools.
// Nothing is written beside the sources; everything goes to the given folder.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ExampleLanguage } from "#core/web/examples.ts";

type Command = readonly [program: string, ...args: string[]];

/** Source files in the folder that also gets the build results. */
export interface ExampleSources {
	folder: string;
	receiver: string;
	sender: string;
	click: string;
}

export interface Toolchain {
	/** Commands that print a version. All must work, and the first one shows which version runs. */
	needs: readonly Command[];
	packages: string;
	/** Name and kind of the example's store in its working folder, or null if it stores nothing. */
	store: { name: string; kind: "folder" | "file" } | null;
	/** True if another program listens, at the port in its command, and passes requests to the example. */
	isServedByCommand?: boolean;
	/** Reason why this machine cannot show that the answer comes before the work. */
	whyNoSlowWork?: string;
	/** Build commands, run one after the other. */
	build?: (sources: ExampleSources) => readonly Command[];
	startReceiver: (sources: ExampleSources, port: number) => Command;
	startSender: (sources: ExampleSources) => Command;
	/**
	 * Returns the command that starts the example for click IDs. Null for the shell's example, which a web
	 * server starts for each request.
	 */
	startClick: ((sources: ExampleSources, port: number) => Command) | null;
}

const run = promisify(execFile);
const FOLDER_STORE = { name: "postbacks", kind: "folder" } as const;
const FILE_STORE = { name: "postbacks.db", kind: "file" } as const;
export const PYTHON = "/usr/bin/python3";
/** Options for Java programs that run for a second or two, half of which would be spent on optimisation. */
const SHORT_LIVED = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"] as const;
const JAVA = ["java", ...SHORT_LIVED] as const;
const JAVAC = ["javac", ...SHORT_LIVED.map((option) => `-J${option}`)] as const;

export const TOOLCHAINS: Readonly<Record<ExampleLanguage, Toolchain>> = {
	node: {
		needs: [[process.execPath, "--version"]],
		packages: "none: it comes with npm ci",
		store: FOLDER_STORE,
		whyNoSlowWork: "console.log never waits; receiver/src/node-handler.test.ts shows it of the package",
		startReceiver: ({ receiver }) => [process.execPath, receiver],
		startSender: ({ sender }) => [process.execPath, sender],
		startClick: ({ click }) => [process.execPath, click],
	},
	php: {
		needs: [
			["php", "--version"],
			["php", "-r", "exit(extension_loaded('pdo_sqlite') && extension_loaded('curl') ? 0 : 1);"],
		],
		packages: "php-cli php-curl php-sqlite3",
		store: FILE_STORE,
		whyNoSlowWork:
			"php -S sends the answer when the script has ended; under FPM fastcgi_finish_request() sends it before",
		isServedByCommand: true,
		startReceiver: ({ receiver }, port) => ["php", "-S", `127.0.0.1:${port}`, receiver],
		startSender: ({ sender }) => ["php", sender],
		startClick: ({ click }, port) => ["php", "-S", `127.0.0.1:${port}`, click],
	},
	python: {
		needs: [[PYTHON, "--version"]],
		packages: "python3",
		store: FILE_STORE,
		startReceiver: ({ receiver }) => [PYTHON, receiver],
		startSender: ({ sender }) => [PYTHON, sender],
		startClick: ({ click }) => [PYTHON, click],
	},
	ruby: {
		needs: [
			["ruby", "--version"],
			["puma", "--version"],
		],
		packages: "ruby puma",
		store: FOLDER_STORE,
		isServedByCommand: true,
		startReceiver: ({ receiver }, port) => ["puma", "-b", `tcp://127.0.0.1:${port}`, receiver],
		startSender: ({ sender }) => ["ruby", sender],
		startClick: ({ click }, port) => ["puma", "-b", `tcp://127.0.0.1:${port}`, click],
	},
	go: {
		needs: [["go", "version"]],
		packages: "golang-go",
		store: FOLDER_STORE,
		build: ({ receiver, sender, click }) =>
			[receiver, sender, click].map((source) => ["go", "build", "-o", binaryOf(source), source]),
		startReceiver: ({ receiver }) => [binaryOf(receiver)],
		startSender: ({ sender }) => [binaryOf(sender)],
		startClick: ({ click }) => [binaryOf(click)],
	},
	java: {
		needs: [
			["java", "--version"],
			["javac", "--version"],
		],
		packages: "openjdk-17-jdk-headless",
		store: FOLDER_STORE,
		build: ({ folder, receiver, sender, click }) => [
			[...JAVAC, "-d", join(folder, "classes"), receiver, sender, click],
		],
		startReceiver: ({ folder }) => [...JAVA, "-cp", join(folder, "classes"), "Receiver"],
		startSender: ({ folder }) => [...JAVA, "-cp", join(folder, "classes"), "Sender"],
		startClick: ({ folder }) => [...JAVA, "-cp", join(folder, "classes"), "Click"],
	},
	csharp: {
		needs: [
			["mono", "--version"],
			["mcs", "--version"],
		],
		packages:
			"mono-mcs mono-runtime libmono-system-core4.0-cil libmono-system-net-http4.0-cil libmono-system-runtime-serialization4.0-cil",
		store: FOLDER_STORE,
		build: ({ receiver, sender, click }) => [
			["mcs", "-warnaserror", "-r:System.Runtime.Serialization", `-out:${binaryOf(receiver)}`, receiver],
			["mcs", "-warnaserror", "-r:System.Net.Http", `-out:${binaryOf(sender)}`, sender],
			["mcs", "-warnaserror", `-out:${binaryOf(click)}`, click],
		],
		startReceiver: ({ receiver }) => ["mono", binaryOf(receiver)],
		startSender: ({ sender }) => ["mono", binaryOf(sender)],
		startClick: ({ click }) => ["mono", binaryOf(click)],
	},
	shell: {
		needs: [
			["openssl", "version"],
			["curl", "--version"],
		],
		packages: "openssl curl",
		store: null,
		startReceiver: ({ receiver }) => ["sh", receiver],
		startSender: ({ sender }) => ["sh", sender],
		startClick: null,
	},
};

/** Returns the version that would run, or what is missing and which package has it. */
export async function findTools(
	language: ExampleLanguage,
): Promise<{ version: string } | { missing: string }> {
	const { needs, packages } = TOOLCHAINS[language];
	let version = "";
	for (const [program, ...args] of needs) {
		try {
			const { stdout, stderr } = await run(program, args);
			version ||= /\d+(\.\d+)+/.exec(stdout + stderr)?.[0] ?? "of no known version";
		} catch {
			const said = `${language}: "${[program, ...args].join(" ")}" does not work here`;
			return { missing: `${said} (Debian: ${packages})` };
		}
	}
	return { version };
}

function binaryOf(source: string): string {
	return source.replace(/\.\w+$/, ".run");
}
