// Makes the folder that is published as `@ringback/receiver`: JavaScript and types from the sources, which the
// repository itself runs as they are. `npm run stage:receiver`, then `npm publish ./receiver/dist`.

import { execFileSync } from "node:child_process";
import { copyFileSync, globSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const TYPESCRIPT = fileURLToPath(import.meta.resolve("typescript/package.json"));
const SOURCE = /^\.\/src\/(.+)\.ts$/;
/** Not in the sources' own package.json: in the repository `ringback` is the service's command. */
const BIN = { ringback: "command/main.js" };

export interface StagedFile {
	path: string;
	bytes: number;
}

export function stageReceiver(folder: string): StagedFile[] {
	rmSync(folder, { recursive: true, force: true });
	compile(folder);
	copyFileSync(join(HERE, "README.md"), join(folder, "README.md"));
	copyFileSync(join(HERE, "vectors.json"), join(folder, "vectors.json"));
	copyFileSync(join(HERE, "../LICENSE"), join(folder, "LICENSE"));
	writeFileSync(join(folder, "package.json"), `${JSON.stringify(describePackage(), null, "\t")}\n`);
	return globSync("**/*", { cwd: folder })
		.map((path) => ({ path, stats: statSync(join(folder, path)) }))
		.filter(({ stats }) => stats.isFile())
		.map(({ path, stats }) => ({ path, bytes: stats.size }))
		.sort((a, b) => a.path.localeCompare(b.path));
}

function compile(folder: string): void {
	const tsc = join(TYPESCRIPT, "../bin/tsc");
	const options = ["--project", join(HERE, "tsconfig.stage.json"), "--outDir", folder];
	execFileSync(process.execPath, [tsc, ...options], { stdio: ["ignore", "inherit", "inherit"] });
	// The compiler turns .ts into .js in the programs only; in the types an older one would look for a source.
	for (const path of globSync("**/*.d.ts", { cwd: folder })) {
		const file = join(folder, path);
		writeFileSync(file, readFileSync(file, "utf8").replace(/(["']\.{1,2}\/[^"'\n]+)\.ts(["'])/g, "$1.js$2"));
	}
}

function describePackage(): object {
	const {
		private: _,
		exports,
		engines,
		...described
	} = JSON.parse(readFileSync(join(HERE, "package.json"), "utf8"));
	return {
		...described,
		sideEffects: false,
		exports: Object.fromEntries(Object.entries(exports).map(([name, path]) => [name, published(path)])),
		bin: BIN,
		files: ["**/*.js", "**/*.d.ts", "vectors.json"],
		engines,
		publishConfig: { access: "public" },
		keywords: ["affiliate", "callback", "hmac", "postback", "signature", "webhook"],
	};
}

function published(path: unknown): unknown {
	const [, name] = SOURCE.exec(String(path)) ?? [];
	return name === undefined ? path : { types: `./${name}.d.ts`, default: `./${name}.js` };
}

if (import.meta.main) {
	const files = stageReceiver(join(HERE, "dist"));
	for (const { path, bytes } of files) console.log(`${String(bytes).padStart(7)}  ${path}`);
	const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
	console.log(`${String(total).padStart(7)}  in ${files.length} files: receiver/dist`);
}
