// Checks that an SBOM has everything that CycloneDX 1.6 requires, and that every part is described.

import { z } from "zod";

const text = z.string().min(1);
const hash = z.discriminatedUnion("alg", [
	z.strictObject({ alg: z.literal("SHA-256"), content: z.string().regex(/^[0-9a-f]{64}$/) }),
	z.strictObject({ alg: z.literal("SHA-512"), content: z.string().regex(/^[0-9a-f]{128}$/) }),
]);
const part = z.strictObject({ type: z.literal("library"), "bom-ref": text, name: text, version: text });
const component = z.strictObject({
	type: z.enum(["application", "library", "platform"]),
	"bom-ref": text,
	name: text,
	version: text,
	purl: z.string().regex(/^pkg:(?:npm|generic)\/(?:%40[^@/]+\/)?[^@/]+@[^@]+$/),
	cpe: z.string().startsWith("cpe:2.3:a:").optional(),
	hashes: z.array(hash).min(1),
	licenses: z.array(z.strictObject({ license: z.strictObject({ id: text }) })).min(1),
	components: z.array(part).optional(),
});
const sbomSchema = z.strictObject({
	bomFormat: z.literal("CycloneDX"),
	specVersion: z.literal("1.6"),
	version: z.int().positive(),
	metadata: z.strictObject({ component }),
	components: z.array(component).min(1),
	dependencies: z.array(z.strictObject({ ref: text, dependsOn: z.array(text) })),
});

/** Returns the problems as sentences, or an empty list. */
export function findSbomProblems(sbom: unknown): string[] {
	const read = sbomSchema.safeParse(sbom);
	if (!read.success) return read.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
	const { metadata, components, dependencies } = read.data;
	const refs = [metadata.component, ...components].map((each) => each["bom-ref"]);
	const knownRefs = new Set(refs);
	const named = dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]);
	return [
		...refs.filter((ref, index) => refs.indexOf(ref) !== index).map((ref) => `${ref} is there twice`),
		...named.filter((ref) => !knownRefs.has(ref)).map((ref) => `${ref} is needed and not there`),
	];
}
