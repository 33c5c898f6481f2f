// What the tests' processes load of others' packages, bound into a few files: kysely has 255, each takes most of a
// millisecond of a processor, and the processes are hundreds. Our own sources are loaded as they are.

import { createHash } from "node:crypto";
import {
	existsSync,
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
import { DAY_MS } from "../../src/domain/time.ts";
import { LOADER_VARIABLE } from "./loader-arguments.ts";

/** Of packages with many files. Whatever else is imported of these packages would be there twice: it is refused. */
const IMPORTS: readonly string[] = [
	"@hono/node-server",
	"csv-parse",
	"fast-check",
	"hono",
	"hono/body-limit",
	"hono/cookie",
	"hono/html",
	"hono/route",
	"kysely",
	"zod",
];

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CACHE = join(ROOT, "node_modules/.cache/packages-in-one");

/** For all processes that are started from now on and inherit this environment. */
export async function bindPackages(): Promise<void> {
	const made = createHash("sha256");
	for (const path of [join(ROOT, "package-lock.json"), import.meta.filename]) made.update(readFileSync(path));
	const folder = join(CACHE, made.digest("hex").slice(0, 16));
	if (existsSync(folder)) utimesSync(folder, new Date(), new Date());
	else await makeFolder(folder);
	const loader = new URL("./load-packages-in-one.ts", import.meta.url);
	loader.searchParams.set("list", join(folder, "list.json"));
	process.env[LOADER_VARIABLE] = loader.href;
	process.env["NODE_OPTIONS"] = `${process.env["NODE_OPTIONS"] ?? ""} --import=${loader.href}`.trim();
}

async function makeFolder(folder: string): Promise<void> {
	mkdirSync(CACHE, { recursive: true });
	removeOld();
	const unfinished = mkdtempSync(join(CACHE, "new-"));
	const outputOf = (specifier: string) => specifier.replaceAll("/", "-");
	await build({
		absWorkingDir: ROOT,
		entryPoints: IMPORTS.map((specifier) => ({ in: specifier, out: outputOf(specifier) })),
		outdir: unfinished,
		bundle: true,
		// What two of them share is there once.
		splitting: true,
		format: "esm",
		platform: "node",
		logLevel: "error",
	});
	const urlOf = (specifier: string) => pathToFileURL(join(folder, `${outputOf(specifier)}.js`)).href;
	const list = Object.fromEntries(IMPORTS.map((specifier) => [specifier, urlOf(specifier)]));
	writeFileSync(join(unfinished, "list.json"), JSON.stringify(list));
	try {
		renameSync(unfinished, folder);
	} catch (error) {
		// Another run that was started at the same time has made the same, and was first.
		if (!existsSync(join(folder, "list.json"))) throw error;
		rmSync(unfinished, { recursive: true });
	}
}

/** What a run made or took up within a day may be in use now. */
function removeOld(): void {
	for (const name of readdirSync(CACHE)) {
		const path = join(CACHE, name);
		const takenUpAtMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
		if (Date.now() - takenUpAtMs > DAY_MS) rmSync(path, { recursive: true, force: true });
	}
}
