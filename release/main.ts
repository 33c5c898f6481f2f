// `npm run release` writes the files that people download into dist/. With --check it says whether they may
// be published.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Command, describeCommand, EXIT, type Options, parseOptions } from "../src/cli/command.ts";
import { buildRelease } from "./build.ts";
import { checkRelease } from "./checklist.ts";
import { canMakeDebianPackages } from "./debian-package.ts";
import { ARCHITECTURES, type Architecture } from "./node-package.ts";
import { describeSigner, signChecksums } from "./signature.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

const command: Command = {
	name: "release",
	summary:
		"Makes the executable for Linux on x64 and on arm64 and a Debian package of each into dist/, with checksums, what each is made of (CycloneDX) and the licences of all parts. The Node of the other kind of machine is fetched from npm and kept.",
	options: {
		arch: { type: "string", value: "x64|arm64", help: "for this kind of machine alone" },
		check: {
			type: "boolean",
			help: "build nothing into dist/, but go through all that must hold before a release is published",
		},
		sign: {
			type: "string",
			value: "KEYFILE",
			help: "sign SHA256SUMS with this SSH key; install.md says how people check it",
		},
		tested: { type: "boolean", help: 'with --check: "npm test" has been run, do not run it again' },
	},
	run,
};

const parsed = parseOptions(command, process.argv.slice(2));
if (!parsed.ok) {
	console.error(`${parsed.problem}\n\n${describe()}`);
	process.exitCode = EXIT.usage;
} else if (parsed.wantsHelp) {
	console.log(describe());
} else {
	process.exitCode = await command
		.run(parsed.options, { out: console.log, error: console.error })
		.catch((error: unknown) => {
			console.error(error instanceof Error ? error.message : error);
			return EXIT.failed;
		});
}

async function run(options: Options): Promise<number> {
	const architectures = chooseArchitectures(options.text("arch"));
	if (architectures === null) {
		console.error(`--arch is x64 or arm64.\n\n${describe()}`);
		return EXIT.usage;
	}
	if (options.flag("check")) {
		const isReady = await checkRelease(ROOT, { isTested: options.flag("tested"), say: console.log });
		return isReady ? EXIT.ok : EXIT.failed;
	}
	const withDebianPackages = canMakeDebianPackages();
	if (!withDebianPackages) console.log("There is no dpkg-deb here: Debian packages are left out.");
	const startedMs = performance.now();
	const folder = fileURLToPath(new URL("../dist/", import.meta.url));
	const files = await buildRelease({
		root: ROOT,
		folder,
		architectures,
		withDebianPackages,
		progress: (step) => console.log(`… ${step}`),
	});
	const keyFile = options.text("sign");
	if (keyFile !== "") {
		const name = signChecksums(folder, keyFile);
		console.log(`Signed: dist/${name}. People check it with this line in their allowed_signers:`);
		console.log(describeSigner(readFileSync(keyFile.replace(/(?:\.pub)?$/, ".pub"), "utf8")));
	}
	for (const { name, bytes, sha256 } of files) {
		console.log(`${(bytes / 1e6).toFixed(1).padStart(7)} MB  ${sha256.slice(0, 12)}…  dist/${name}`);
	}
	console.log(`Done in ${((performance.now() - startedMs) / 1000).toFixed(1)} s.`);
	return EXIT.ok;
}

function chooseArchitectures(given: string): readonly Architecture[] | null {
	if (given === "") return ARCHITECTURES;
	const chosen = ARCHITECTURES.filter((arch) => arch === given);
	return chosen.length === 0 ? null : chosen;
}

function describe(): string {
	return describeCommand(command, "npm run", "--");
}
