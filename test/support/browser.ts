// A real browser for tests: the one that is named, or npm's Chromium, or the machine's own; the first that starts.

import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { unpackNpmChromium } from "./npm-chromium.ts";

/** The path of a Chromium or Chrome. When it is set, no other is tried. */
export const BROWSER_VARIABLE = "RINGBACK_TEST_BROWSER";

export type FoundBrowser =
	| { isThere: true; browser: Browser; path: string }
	| { isThere: false; reason: string };

interface Candidate {
	name: string;
	executablePath: string;
	env?: Readonly<Record<string, string>>;
}

/** What Debian, Ubuntu and Google call it, and where macOS has it. The one that has no window takes half the time. */
const SYSTEM_COMMANDS = [
	"chromium-headless-shell",
	"chromium",
	"chromium-browser",
	"google-chrome",
	"google-chrome-stable",
];
const MACOS_PATHS = [
	"/Applications/Chromium.app/Contents/MacOS/Chromium",
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

const ARGS = [
	// Root is refused a sandbox, and what is opened here is our own.
	"--no-sandbox",
	// Containers have 64 MB of shared memory.
	"--disable-dev-shm-usage",
	"--disable-gpu",
	"--font-render-hinting=none",
	// A browser on trial has no business of its own in the network.
	"--no-first-run",
	"--disable-background-networking",
	"--disable-component-update",
	"--disable-sync",
	"--disable-quic",
];

export async function findBrowser(environment: NodeJS.ProcessEnv = process.env): Promise<FoundBrowser> {
	const failures: string[] = [];
	for await (const candidate of candidates(environment, failures)) {
		try {
			return { isThere: true, browser: await launch(candidate, environment), path: candidate.executablePath };
		} catch (error) {
			failures.push(`${candidate.name} does not start (${firstLine(error)})`);
		}
	}
	const tried = failures.length === 0 ? "there is none" : failures.join("; ");
	const cure = `Install one (Debian: apt-get install chromium-headless-shell or chromium), or set ${BROWSER_VARIABLE} to its path.`;
	return { isThere: false, reason: `The pages need a Chromium to be tested in: ${tried}. ${cure}` };
}

async function* candidates(environment: NodeJS.ProcessEnv, failures: string[]): AsyncGenerator<Candidate> {
	const named = environment[BROWSER_VARIABLE];
	if (named !== undefined && named !== "") {
		yield { name: `${BROWSER_VARIABLE}=${named}`, executablePath: named };
		return;
	}
	if (process.platform === "linux" && process.arch === "x64") {
		try {
			yield { name: "npm's Chromium", ...(await unpackNpmChromium()) };
		} catch (error) {
			failures.push(`npm's Chromium cannot be unpacked (${firstLine(error)})`);
		}
	} else {
		failures.push(`npm's Chromium is not for ${process.platform} on ${process.arch}`);
	}
	const folders = (environment["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
	const commands = SYSTEM_COMMANDS.flatMap((command) => folders.map((folder) => join(folder, command)));
	for (const path of [...commands, ...(process.platform === "darwin" ? MACOS_PATHS : [])]) {
		if (existsSync(path)) yield { name: path, executablePath: path };
	}
}

/** Shows a page as well: a binary for another kind of machine, or one that lacks a library, is no browser. */
async function launch(
	{ executablePath, env = {} }: Candidate,
	environment: NodeJS.ProcessEnv,
): Promise<Browser> {
	const browser = await chromium.launch({ executablePath, args: ARGS, env: { ...environment, ...env } });
	try {
		const page = await browser.newPage();
		await page.setContent("<title>it works</title>");
		await page.close();
		return browser;
	} catch (error) {
		await browser.close();
		throw error;
	}
}

function firstLine(error: unknown): string {
	const [line = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
	return line;
}
