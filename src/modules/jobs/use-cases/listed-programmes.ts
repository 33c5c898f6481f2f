// Reads a plain list of programmes, with one name or ID on each line, as people paste it or save it from a
// spreadsheet.

import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import type { Db } from "#core/store/store.ts";
import { findNamedProgrammes } from "./kind.ts";

/** Finds the programmes of a list of at most `most` lines. Refuses the whole list if one of them is not known. */
export async function findListedProgrammes(
	db: Db,
	text: string,
	most = Number.POSITIVE_INFINITY,
): Promise<Result<Programme[]>> {
	const lines = text.split(/[\r\n]+/).map((line) => line.trim().replace(/^"(.*)"$/, "$1"));
	// A column that was copied from a spreadsheet may have its title.
	const isTitle = /^\ufeff?programme$/i.test(lines[0] ?? "");
	const named = lines.slice(isTitle ? 1 : 0).filter((line) => line !== "");
	if (named.length === 0) {
		return refuse("invalid_field", "Write one programme on each line, by its name or its ID.", "programmes");
	}
	if (named.length > most) {
		const detail = `Name at most ${most} programmes at once. Issue the keys in parts.`;
		return refuse("too_many_rows", detail, "programmes");
	}
	const programmeOf = await findNamedProgrammes(db, named);
	const found = new Map<number, Programme>();
	for (const line of named) {
		const programme = programmeOf(line.slice(0, MAX_NAME_CHARACTERS));
		if (!programme.ok) return refuse(programme.fault.code, programme.fault.detail, "programmes");
		found.set(programme.value.id, programme.value);
	}
	return succeed([...found.values()]);
}

/** Maximum number of characters of a line that are looked up, and quoted in a refusal. No programme's name is longer. */
const MAX_NAME_CHARACTERS = 200;
