// Builds the package that a shop installs as `@ringback/receiver`. It contains JavaScript and types, compiled
// from the sources that the repository runs directly, as ES modules and once more as CommonJS in the folder cjs.
// The command is an ES module only. `npm run pack:receiver` writes the package of this version to receiver/packed/, which
// the service serves and git ignores. With `--release` it writes it to receiver/downloads/, which is in git, and after that
// the package of this version cannot change. `npm ci` runs it with `--if-possible`, because it takes about a second.

import { execFileSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describePacked, type Packed, storePacked } from "./packed-version.ts";
import { type PackedFile, writeTarball } from "./tarball.ts";

const HERE = fileURLToPath(new URL(".", import.meta.url));
/** Export that the service's own command uses. It has no CommonJS form. */
const COMMAND = "./command";
const SOURCE = /^\.\/src\/(.+)\.ts$/;
/**
 * The package's command. It is not in the package.json of the sources, because in the repository `ringback`
 * is the command of the service.
 */
const BIN = { ringback: "command/main.js" };
/** Folder of the CommonJS files. Its own package.json says so, because the package's says that files are modules. */
const COMMONJS = "cjs";

/** Returns the package of this version, compiled from the current sources. */
export function packReceiver(): Packed {
	const description = describePackage();
	const modules = compile("tsconfig.pack.json");
	const tarball = writeTarball([
		{ path: "package.json", bytes: Buffer.from(`${JSON.stringify(description, null, "\t")}\n`) },
		...["README.md", "vectors.json"].map((path) => ({ path, bytes: readFileSync(join(HERE, path)) })),
		{ path: "LICENSE", bytes: readFileSync(join(HERE, "../LICENSE")) },
		...modules,
		...commonjsOf(modules),
	]);
	// npm gives a packed file this name.
	return describePacked("ringback-receiver", description.version, tarball);
}

/**
 * Returns the CommonJS files. They have the same types as the modules, and no comments, because the modules have
 * them.
 */
function commonjsOf(modules: readonly PackedFile[]): PackedFile[] {
	const programs = compile("tsconfig.pack-commonjs.json");
	const names = new Set(programs.map(({ path }) => path.replace(/\.js$/, ".d.ts")));
	const files = [...programs, ...modules.filter(({ path }) => names.has(path))];
	return [
		{ path: `${COMMONJS}/package.json`, bytes: Buffer.from('{ "type": "commonjs" }\n') },
		...files.map(({ path, bytes }) => ({ path: `${COMMONJS}/${path}`, bytes })),
	];
}

function compile(config: string): PackedFile[] {
	// The compiler is resolved only when it is needed, because some programs that import this file do not have
	// it.
	const typescript = findCompiler();
	const folder = mkdtempSync(join(tmpdir(), "ringback-receiver-"));
	try {
		const options = ["--project", join(HERE, config), "--outDir", folder];
		execFileSync(process.execPath, [join(typescript, "../bin/tsc"), ...options], {
			stdio: ["ignore", "inherit", "inherit"],
		});
		return globSync("**/*", { cwd: folder })
			.filter((path) => statSync(join(folder, path)).isFile())
			.sort()
			.map((path) => ({ path, bytes: readCompiled(folder, path) }));
	} finally {
		rmSync(folder, { recursive: true });
	}
}

function findCompiler(): string {
	try {
		return fileURLToPath(import.meta.resolve("typescript/package.json"));
	} catch (cause) {
		throw new Error("That needs TypeScript, which `npm ci` without --omit=dev installs.", { cause });
	}
}

/**
 * Reads a compiled file. In type declarations, imports of .ts files are rewritten here, because the compiler
 * rewrites them only in programs, and an older compiler would look for the source.
 */
function readCompiled(folder: string, path: string): Uint8Array {
	const text = readFileSync(join(folder, path), "utf8");
	return Buffer.from(
		path.endsWith(".d.ts") ? text.replace(/(["']\.{1,2}\/[^"'\n]+)\.ts(["'])/g, "$1.js$2") : text,
	);
}

function describePackage(): { version: string } {
	const {
		private: _,
		exports,
		engines,
		...described
	} = JSON.parse(readFileSync(join(HERE, "package.json"), "utf8"));
	const entries: [name: string, path: string][] = Object.entries(exports);
	return {
		...described,
		sideEffects: false,
		// `main`, `types` and `typesVersions` are for tools that do not read `exports`.
		main: `./${COMMONJS}/index.js`,
		types: `./${COMMONJS}/index.d.ts`,
		typesVersions: { "*": Object.fromEntries(entries.flatMap(typesOf)) },
		exports: Object.fromEntries(entries.map(([name, path]) => [name, published(name, path)])),
		bin: BIN,
		engines,
		keywords: ["affiliate", "callback", "hmac", "postback", "signature", "webhook"],
	};
}

/** Returns an export of the published package: the CommonJS file for `require`, and otherwise the module. */
function published(name: string, path: string): unknown {
	const [, file] = SOURCE.exec(path) ?? [];
	if (file === undefined) return path;
	const module = { types: `./${file}.d.ts`, default: `./${file}.js` };
	if (name === COMMAND) return module;
	const commonjs = `./${COMMONJS}/${file}`;
	return { require: { types: `${commonjs}.d.ts`, default: `${commonjs}.js` }, ...module };
}

/** Returns where an older TypeScript finds the types of an export, other than those of the package itself. */
function typesOf([name, path]: [name: string, path: string]): [string, string[]][] {
	const [, file] = SOURCE.exec(path) ?? [];
	if (file === undefined || name === "." || name === COMMAND) return [];
	return [[name.replace("./", ""), [`./${COMMONJS}/${file}.d.ts`]]];
}

/** Packs the current version and stores it where the service finds it. */
export function storeReceiver(options = { isRelease: false }): void {
	storePacked(HERE, packReceiver(), options);
}

if (import.meta.main) {
	try {
		storeReceiver({ isRelease: process.argv.includes("--release") });
	} catch (error) {
		// `npm ci --omit=dev` installs no compiler, and `npm ci` must also work after a release, before the version is raised.
		if (!process.argv.includes("--if-possible")) throw error;
		console.log(`@ringback/receiver was not packed. ${error instanceof Error ? error.message : error}`);
	}
}
