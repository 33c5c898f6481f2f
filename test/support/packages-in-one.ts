// Bundles the code that the processes of a test run load, because loading a file takes most of a millisecond and there
// are hundreds of processes. Third-party packages become a few files for every process; kysely alone has 255 files.
// The `ringback` command becomes one file, as in the executable, which halves the time that it takes to start. Test
// files load our sources unbundled.

import { createHash } from "node:crypto";
import {
	existsSync,
	globSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { DAY_MS } from "#core/domain/time.ts";
import { LOADER_VARIABLE } from "./loader-arguments.ts";

/**
 * Imports that are bundled, from packages with many files. Any other import of these packages is refused,
 * because parts of them would be loaded twice.
 */
const IMPORTS: readonly string[] = [
	"@hono/node-server",
	"csv-parse",
	"fast-check",
	"hono",
	"hono/accepts",
	"hono/body-limit",
	"hono/cookie",
	"hono/html",
	"hono/request",
	"hono/route",
	"kysely",
	"zod",
];

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CACHE = join(ROOT, "node_modules/.cache/packages-in-one");
const LIST = "list.json";
const PROGRAM = "main.mjs";
/** Address of the source file from which the product finds its other files. */
const SHIPPED = new URL("../../src/shipped-files.ts", import.meta.url).href;

/** Builds the bundles, and makes all processes that are started later with this environment use them. */
export async function bindPackages(): Promise<void> {
	const lock = join(ROOT, "package-lock.json");
	const sources = globSync("{src,receiver/src}/**/*.{ts,js}", { cwd: ROOT }).sort();
	const packages = await bring("packages", [lock], makePackages);
	const program = await bring("program", [lock, ...sources.map((path) => join(ROOT, path))], makeProgram);
	const loader = new URL("./load-packages-in-one.ts", import.meta.url);
	loader.searchParams.set("list", join(packages, LIST));
	loader.searchParams.set("program", pathToFileURL(join(program, PROGRAM)).href);
	process.env[LOADER_VARIABLE] = loader.href;
	process.env["NODE_OPTIONS"] = `${process.env["NODE_OPTIONS"] ?? ""} --import=${loader.href}`.trim();
}

/** Returns a folder with the bundles that `make` writes. An earlier run may have written them. */
async function bring(
	name: string,
	files: readonly string[],
	make: (into: string, folder: string) => Promise<void>,
): Promise<string> {
	const hash = createHash("sha256");
	for (const path of [...files, import.meta.filename]) hash.update(readFileSync(path));
	const folder = join(CACHE, `${name}-${hash.digest("hex").slice(0, 16)}`);
	if (existsSync(folder)) {
		utimesSync(folder, new Date(), new Date());
		return folder;
	}
	mkdirSync(CACHE, { recursive: true });
	removeOld();
	const unfinished = mkdtempSync(join(CACHE, "new-"));
	await make(unfinished, folder);
	try {
		renameSync(unfinished, folder);
	} catch (error) {
		// Another run that started at the same time built the same bundles first.
		if (!existsSync(folder)) throw error;
		rmSync(unfinished, { recursive: true });
	}
	return folder;
}

async function makePackages(into: string, folder: string): Promise<void> {
	const outputOf = (specifier: string) => specifier.replaceAll("/", "-");
	await build({
		absWorkingDir: ROOT,
		entryPoints: IMPORTS.map((specifier) => ({ in: specifier, out: outputOf(specifier) })),
		outdir: into,
		bundle: true,
		// Code that several bundles share is written once.
		splitting: true,
		format: "esm",
		platform: "node",
		logLevel: "error",
	});
	const urlOf = (specifier: string) => pathToFileURL(join(folder, `${outputOf(specifier)}.js`)).href;
	const list = Object.fromEntries(IMPORTS.map((specifier) => [specifier, urlOf(specifier)]));
	writeFileSync(join(into, LIST), JSON.stringify(list));
}

async function makeProgram(into: string): Promise<void> {
	await build({
		absWorkingDir: ROOT,
		entryPoints: ["src/main.ts"],
		outfile: join(into, PROGRAM),
		bundle: true,
		platform: "node",
		target: "node26",
		format: "esm",
		// The type check's configuration is not used, because it maps some packages to declarations.
		tsconfigRaw: {},
		// Packages written for `require` need this function, which an ES module does not have.
		banner: {
			js: `import { createRequire } from "node:module"; const require = createRequire("${SHIPPED}");`,
		},
		// The program finds its files relative to this source.
		define: { "import.meta.url": JSON.stringify(SHIPPED) },
		external: ["pg-native"],
		logLevel: "error",
	});
}

/** Removes old bundles. A bundle that was built or used within a day may still be in use. */
function removeOld(): void {
	for (const name of readdirSync(CACHE)) {
		const path = join(CACHE, name);
		const takenUpAtMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
		if (Date.now() - takenUpAtMs > DAY_MS) rmSync(path, { recursive: true, force: true });
	}
}
