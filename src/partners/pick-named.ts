// Something that people name in a field of a form: by its name or its id.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { foldText } from "../domain/visible-text.ts";

/** How many are read to pick one of, and named where several match. */
export const MATCHES_NAMED = 20;

/** Of those that a search found, the one that was meant: the only one, or the one with this whole name. */
export function pickNamed<One extends { name: string; publicId: string }>(
	found: readonly One[],
	typed: string,
	noun: "programme" | "partner",
): Result<One> {
	const exact = found.filter(({ name }) => foldText(name) === foldText(typed));
	const [one, ...others] = exact.length > 0 ? exact : found;
	if (one === undefined) {
		const text =
			noun === "partner"
				? "No partner of this programme has this name or ID. Add them first, under Partners."
				: "No programme has this name or ID. Enter part of the name, or the ID.";
		return refuse(`unknown_${noun}`, text, noun);
	}
	if (others.length === 0) return succeed(one);
	const several = [one, ...others].map(({ name, publicId }) => `${name} (${publicId})`).join(", ");
	return refuse(`unknown_${noun}`, `Several match: ${several}. Enter the ID of the one you mean.`, noun);
}
