// Starts a real browser for tests. It uses the browser that the environment names, npm's Chromium, or the
// machine's own browser, whichever starts first.

import { execFile } from "node:child_process";
import {
	copyFileSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	realpathSync,
	renameSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Browser, chromium } from "playwright-core";
import packageJson from "../../package.json" with { type: "json" };

/** Environment variable with the path of a Chromium or Chrome. If it is set, no other browser is tried. */
const BROWSER_VARIABLE = "RINGBACK_TEST_BROWSER";

export type FoundBrowser = { isThere: true; browser: Browser } | { isThere: false; reason: string };

interface Candidate {
	name: string;
	executablePath: string;
	env?: Readonly<Record<string, string>>;
}

/**
 * Names of the browser's program on Debian and Ubuntu and in Google's packages, and its path on macOS. The headless
 * shell comes first, because it takes half the time.
 */
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

/**
 * Monospaced font of the tests. It is wider than most, so a page that fits with it also fits with the fonts of other
 * machines.
 */
const MONO = { family: "DejaVu Sans Mono", file: "DejaVuSansMono.ttf" };

const ARGS = [
	// Chromium refuses to start its sandbox as root, and the tests open only our own pages.
	"--no-sandbox",
	// This option is needed in containers, which have only 64 MB of shared memory.
	"--disable-dev-shm-usage",
	"--disable-gpu",
	"--font-render-hinting=none",
	// These options keep the browser from making its own requests.
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

/**
 * Starts the browser and loads a page. A binary for another architecture, or without its libraries, may start
 * but shows no page.
 */
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
 * Unpacks npm's Chromium for Linux on x64 with the libraries and the font that it contains, so that nothing
 * has to be installed on the machine. This is done once per version. The folder is inside node_modules, so
 * that `npm ci` removes it.
 */
async function unpackNpmChromium(): Promise<Omit<Candidate, "name">> {
	const version = packageJson.devDependencies["@sparticuz/chromium"];
	// The real path is used, because node_modules may be a link to another checkout, and the font settings must
	// not contain the path of this one.
	const modules = realpathSync(fileURLToPath(new URL("../../node_modules", import.meta.url)));
	const folder = join(modules, ".cache", `chromium-${version}-mono`);
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
	// If this variable looks like AWS Lambda's, the package also unpacks libraries that many machines lack (NSS, expat).
	const env = { ...process.env, TMPDIR: fresh, AWS_EXECUTION_ENV: "AWS_Lambda_nodejs22.x" };
	await promisify(execFile)(process.execPath, [script], { env });
	copyFileSync(
		fileURLToPath(new URL(`fonts/${MONO.file}`, import.meta.url)),
		join(fresh, "fonts", MONO.file),
	);
	writeFileSync(join(fresh, "fonts.conf"), fontsConf(folder));
	try {
		renameSync(fresh, folder);
	} catch (error) {
		// Another process has unpacked the same files first, so this copy is removed.
		rmSync(fresh, { recursive: true });
		if (!existsSync(folder)) throw error;
	}
}

/**
 * Returns font settings that prefer the package's font and the monospaced font of the tests. The machine's fonts are used
 * only for characters that both lack. Its monospaced fonts are hidden, because pages prefer some of them by name.
 */
function fontsConf(folder: string): string {
	const prefer = (generic: string, family: string) =>
		`<match target="pattern"><test name="family"><string>${generic}</string></test><edit name="family" mode="prepend" binding="strong"><string>${family}</string></edit></match>`;
	return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
	<dir>${folder}/fonts</dir>
	<dir>/usr/share/fonts</dir>
	<cachedir>${folder}/fonts-cache</cachedir>
	<selectfont>
		<acceptfont><glob>${folder}/fonts/*</glob></acceptfont>
		<rejectfont><pattern><patelt name="spacing"><const>mono</const></patelt></pattern></rejectfont>
	</selectfont>
	${prefer("system-ui", "Open Sans")}
	${prefer("sans-serif", "Open Sans")}
	${prefer("monospace", MONO.family)}
</fontconfig>
`;
}
