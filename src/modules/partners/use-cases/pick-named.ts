// Finds the programme or partner whose name or ID a person typed into a form.

import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import { foldText } from "#core/domain/visible-text.ts";
import { listProgrammes } from "#core/store/queries/programme-list.ts";
import { findProgramme, type Programme } from "#core/store/queries/programmes.ts";
import type { Db } from "#core/store/store.ts";

/** Maximum number of matches that a search reads and that a refusal lists. */
export const MATCHES_NAMED = 20;

/** Finds the programme whose name or ID was typed. */
export async function findNamedProgramme(db: Db, typed: string): Promise<Result<Programme>> {
	const { rows } = await listProgrammes(db, { search: typed, limit: MATCHES_NAMED });
	const picked = pickNamed(rows, typed, "programme");
	if (!picked.ok) return picked;
	const programme = await findProgramme(db, picked.value.publicId);
	return programme === undefined ? pickNamed([], typed, "programme") : succeed(programme);
}

/**
 * Returns the match that has the whole typed text as its name or ID. Otherwise refuses, and lists the names that
 * contain the text. A part of a name is not enough, because the choice decides about money.
 */
export function pickNamed<Match extends { name: string; publicId: string }>(
	found: readonly Match[],
	typed: string,
	noun: "programme" | "partner",
): Result<Match> {
	const wanted = foldText(typed);
	const isMeant = ({ name, publicId }: Match) => publicId === typed || foldText(name) === wanted;
	const [match, ...others] = found.filter(isMeant);
	if (match !== undefined && others.length === 0) return succeed(match);
	if (found.length === 0) {
		const text =
			noun === "partner"
				? "No partner of this programme has this name or ID. Add them first, under Partners."
				: "No programme has this name or ID. Enter the whole name, or the ID.";
		return refuse(`unknown_${noun}`, text, noun);
	}
	const close = (match === undefined ? found : [match, ...others])
		.map(({ name, publicId }) => `${name} (${publicId})`)
		.join(", ");
	const text =
		match === undefined
			? `No ${noun} has exactly this name. Similar names: ${close}. Enter the whole name, or the ID.`
			: `Several match: ${close}. Enter the ID of the one you mean.`;
	return refuse(`unknown_${noun}`, text, noun);
}
