// Builds the package that a Vendure shop installs as `@ringback/vendure-plugin`: CommonJS with types, and the sources
// beside them. `npm run pack:vendure` writes it to integrations/vendure/packed/, or with `--release` to
// integrations/vendure/downloads/, as pack.ts does with the library. It needs `npm ci` in integrations/vendure, because the
// compiler needs Vendure's types.

import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packReceiver } from "./pack.ts";
import { describePacked, type Packed, storePacked } from "./packed-version.ts";
import { type PackedFile, writeTarball } from "./tarball.ts";

const PLUGIN = fileURLToPath(new URL("../integrations/vendure/", import.meta.url));
const LICENCE = fileURLToPath(new URL("../LICENSE", import.meta.url));

const COMPILER = join(PLUGIN, "node_modules/typescript/bin/tsc");

/** Returns true if `npm ci` was run in integrations/vendure. */
export function canPackVendurePlugin(): boolean {
	return existsSync(COMPILER);
}

/** Returns the package of this version, compiled from the current sources. */
function packVendurePlugin(): Packed {
	const files = [...listSources(), ...compile()];
	return describePacked("ringback-vendure-plugin", describePlugin().version, writeTarball(files));
}

/** Returns the files of the package that need no compiler. */
function listSources(): PackedFile[] {
	const sources = globSync("src/*.ts", { cwd: PLUGIN }).sort();
	return [
		{ path: "package.json", bytes: Buffer.from(`${JSON.stringify(describePlugin(), null, "\t")}\n`) },
		{ path: "LICENSE", bytes: readFileSync(LICENCE) },
		...["README.md", ...sources].map((path) => ({ path, bytes: readFileSync(join(PLUGIN, path)) })),
	];
}

/** Installs the library of this repository where the compiler finds it. */
function installLibrary(): void {
	const library = join(PLUGIN, "node_modules/@ringback/receiver");
	rmSync(library, { recursive: true, force: true });
	mkdirSync(library, { recursive: true });
	execFileSync("tar", ["-xzf", "-", "--strip-components=1", "-C", library], {
		input: packReceiver().tarball,
	});
}

function compile(): PackedFile[] {
	if (!canPackVendurePlugin()) throw new Error("Run `npm ci` in integrations/vendure first.");
	installLibrary();
	const folder = mkdtempSync(join(tmpdir(), "ringback-vendure-"));
	try {
		const options = ["--project", join(PLUGIN, "tsconfig.json"), "--outDir", folder];
		execFileSync(process.execPath, [COMPILER, ...options], { stdio: ["ignore", "inherit", "inherit"] });
		return globSync("*.{js,d.ts}", { cwd: folder })
			.sort()
			.map((path) => ({ path: `dist/${path}`, bytes: readFileSync(join(folder, path)) }));
	} finally {
		rmSync(folder, { recursive: true });
	}
}

/** Returns the package.json of the package, without what only the development of the plugin needs. */
function describePlugin(): { version: string } {
	const {
		private: _private,
		scripts: _scripts,
		devDependencies: _devDependencies,
		overrides: _overrides,
		...described
	} = JSON.parse(readFileSync(join(PLUGIN, "package.json"), "utf8"));
	return { ...described, keywords: ["affiliate", "vendure", "vendure-plugin"] };
}

/** Packs the current version and stores it where the service finds it. */
export function storeVendurePlugin(options = { isRelease: false }): void {
	storePacked(PLUGIN, packVendurePlugin(), options);
}

if (import.meta.main) storeVendurePlugin({ isRelease: process.argv.includes("--release") });
