// Writes the SBOM of the executable in CycloneDX 1.6, for people who check whether a part has a known
// vulnerability. Nothing in it depends on the time or place of the build.

import type { LockedPackage } from "./lock-file.ts";
import type { ReleasedPackage } from "./released-packages.ts";

export interface Sbom {
	bomFormat: "CycloneDX";
	specVersion: "1.6";
	version: 1;
	metadata: { component: Component };
	components: Component[];
	dependencies: { ref: string; dependsOn: string[] }[];
}

export interface Component {
	type: "application" | "library" | "platform";
	"bom-ref": string;
	name: string;
	version: string;
	purl?: string;
	cpe?: string;
	hashes?: { alg: "SHA-256" | "SHA-512"; content: string }[];
	licenses?: { license: { id: string } }[];
	/** Parts that the component itself contains. */
	components?: Component[];
}

export interface Released {
	version: string;
	fileName: string;
	sha256: string;
	packages: readonly ReleasedPackage[];
	/** Finds a required package in the lock file, or returns undefined if it is optional and not installed. */
	resolve: (from: ReleasedPackage, name: string) => ReleasedPackage | undefined;
	node: LockedPackage;
	/** Versions of the parts of Node, from `process.versions`. */
	nodeParts: Readonly<Record<string, string | undefined>>;
}

export function writeSbom(released: Released): Sbom {
	const { version, fileName, sha256, packages, resolve, node, nodeParts } = released;
	const root: Component = {
		type: "application",
		"bom-ref": `ringback@${version}`,
		name: "ringback",
		version,
		purl: `pkg:generic/ringback@${version}?file_name=${fileName}`,
		hashes: [{ alg: "SHA-256", content: sha256 }],
		licenses: [{ license: { id: "MIT" } }],
	};
	const platform = describeNode(node, nodeParts);
	const libraries = packages.map(describeLibrary);
	return {
		bomFormat: "CycloneDX",
		specVersion: "1.6",
		version: 1,
		metadata: { component: root },
		components: [...libraries, platform],
		dependencies: [
			{ ref: root["bom-ref"], dependsOn: [...libraries, platform].map((each) => each["bom-ref"]) },
			...packages.map((each) => ({
				ref: refOf(each),
				dependsOn: each.needs.flatMap((name) => resolve(each, name) ?? []).map(refOf),
			})),
		],
	};
}

function describeLibrary(locked: ReleasedPackage): Component {
	const { name, version, licence } = locked;
	return {
		type: "library",
		"bom-ref": refOf(locked),
		name,
		version,
		purl: npmUrl(name, version),
		hashes: [tarballHash(locked)],
		licenses: [{ license: { id: licence } }],
	};
}

/** Entries of `process.versions` that are not parts, but versions of interfaces and of Node itself. */
const NO_PARTS: readonly string[] = ["node", "modules", "napi"];

function describeNode(locked: LockedPackage, parts: Released["nodeParts"]): Component {
	const { name, version } = locked;
	// A version is empty if this Node was built without that part.
	const included = Object.entries(parts).filter(([part, of = ""]) => of !== "" && !NO_PARTS.includes(part));
	return {
		type: "platform",
		"bom-ref": refOf(locked),
		name: "node",
		version,
		purl: npmUrl(name, version),
		cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
		hashes: [tarballHash(locked)],
		licenses: [{ license: { id: "MIT" } }],
		components: included.sort().map(([part, partVersion = ""]) => ({
			type: "library",
			"bom-ref": `node/${part}@${partVersion}`,
			name: part,
			version: partVersion,
		})),
	};
}

/** Returns the reference of a package. It contains the path, because a package may occur in two versions. */
function refOf({ path, version }: LockedPackage): string {
	return `${path}@${version}`;
}

function npmUrl(name: string, version: string): string {
	return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function tarballHash({ integrity }: LockedPackage): { alg: "SHA-512"; content: string } {
	return { alg: "SHA-512", content: Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex") };
}
