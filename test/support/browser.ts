// A real browser for tests: the one that is named, or npm's Chromium, or the machine's own; the first that starts.

import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Browser, chromium } from "playwright-core";
import packageJson from "../../package.json" with { type: "json" };

/** The path of a Chromium or Chrome. When it is set, no other is tried. */
const BROWSER_VARIABLE = "RINGBACK_TEST_BROWSER";

export type FoundBrowser = { isThere: true; browser: Browser } | { isThere: false; reason: string };

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

export async function findBrowser(): Promise<FoundBrowser> {
	const failures: string[] = [];
	for await (const candidate of candidates(failures)) {
		try {
			return { isThere: true, browser: await launch(candidate) };
		} catch (error) {
			failures.push(`${candidate.name} does not start (${firstLine(error)})`);
		}
	}
	const tried = failures.length === 0 ? "there is none" : failures.join("; ");
	const cure = `Install one (Debian: apt-get install chromium-headless-shell or chromium), or set ${BROWSER_VARIABLE} to its path.`;
	return { isThere: false, reason: `The pages need a Chromium to be tested in: ${tried}. ${cure}` };
}

async function* candidates(failures: string[]): AsyncGenerator<Candidate> {
	const named = process.env[BROWSER_VARIABLE];
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
	const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
	const commands = SYSTEM_COMMANDS.flatMap((command) => folders.map((folder) => join(folder, command)));
	for (const path of [...commands, ...(process.platform === "darwin" ? MACOS_PATHS : [])]) {
		if (existsSync(path)) yield { name: path, executablePath: path };
	}
}

/** Shows a page as well: a binary for another kind of machine, or one that lacks a library, is no browser. */
async function launch({ executablePath, env = {} }: Candidate): Promise<Browser> {
	const browser = await chromium.launch({ executablePath, args: ARGS, env: { ...process.env, ...env } });
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

/**
 * For Linux on x64, with the libraries and the font it brings along, so that a bare machine of that kind is enough. Once for
 * each version; beside what npm installed, so that `npm ci` clears it away, too.
 */
async function unpackNpmChromium(): Promise<Omit<Candidate, "name">> {
	const version = packageJson.devDependencies["@sparticuz/chromium"];
	// Where it really is: a checkout that borrows another's modules must not leave its own path in the fonts' settings.
	const modules = realpathSync(fileURLToPath(new URL("../../node_modules", import.meta.url)));
	const folder = join(modules, ".cache", `chromium-${version}`);
	if (!existsSync(folder)) await unpackInto(folder);
	return {
		executablePath: join(folder, "chromium"),
		env: { LD_LIBRARY_PATH: join(folder, "al2023", "lib"), FONTCONFIG_FILE: join(folder, "fonts.conf") },
	};
}

async function unpackInto(folder: string): Promise<void> {
	mkdirSync(dirname(folder), { recursive: true });
	const fresh = mkdtempSync(`${folder}-`);
	const script = fileURLToPath(new URL("unpack-chromium.ts", import.meta.url));
	// With the name of a Lambda it unpacks the libraries, too, that are not on every machine (NSS, expat).
	const env = { ...process.env, TMPDIR: fresh, AWS_EXECUTION_ENV: "AWS_Lambda_nodejs22.x" };
	await promisify(execFile)(process.execPath, [script], { env });
	writeFileSync(join(fresh, "fonts.conf"), fontsConf(folder));
	try {
		renameSync(fresh, folder);
	} catch (error) {
		// Somebody else was faster, and theirs is as good.
		rmSync(fresh, { recursive: true });
		if (!existsSync(folder)) throw error;
	}
}

/** The font of the package first; those of the machine for what it lacks, such as letters of equal width. */
function fontsConf(folder: string): string {
	const prefer = (generic: string, family: string) =>
		`<match target="pattern"><test name="family"><string>${generic}</string></test><edit name="family" mode="prepend" binding="strong"><string>${family}</string></edit></match>`;
	return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
	<dir>${folder}/fonts</dir>
	<dir>/usr/share/fonts</dir>
	<cachedir>${folder}/fonts-cache</cachedir>
	${prefer("system-ui", "Open Sans")}
	${prefer("sans-serif", "Open Sans")}
	${prefer("monospace", "Liberation Mono")}
</fontconfig>
`;
}
