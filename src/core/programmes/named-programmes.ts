// Finds the programmes that people name in files and lists, by ID or by name.

import { parseName } from "../domain/display-name.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import {
	findProgrammesByName,
	findProgrammesByPublicId,
	type Programme,
} from "../store/queries/programmes.ts";
import type { Db } from "../store/store.ts";

export type NamedProgrammes = (named: string) => Result<Programme>;

const PROGRAMME_ID = /^prg_[0-9A-Z]{26}$/;

/** Loads all named programmes with few statements, and returns a function that finds each of them. */
export async function findNamedProgrammes(db: Db, named: readonly string[]): Promise<NamedProgrammes> {
	const distinct = [...new Set(named)];
	const ids = distinct.filter((text) => PROGRAMME_ID.test(text));
	const names = distinct.flatMap((text) => parseName(text) ?? []);
	const byId = new Map((await findProgrammesByPublicId(db, ids)).map((found) => [found.public_id, found]));
	const byName = Map.groupBy(await findProgrammesByName(db, names), ({ name }) => name);
	return (text) => {
		const programmeWithId = byId.get(text);
		if (programmeWithId !== undefined && programmeWithId.archived_at_ms !== null) {
			return refuseProgramme(`“${programmeWithId.name}” is archived. Resume it on its Settings page first.`);
		}
		if (programmeWithId !== undefined) return succeed(programmeWithId);
		const [programme, another] = byName.get(parseName(text) ?? "") ?? [];
		if (another !== undefined) {
			return refuseProgramme(`Several programmes are called “${text}”. Write the ID, prg_…, instead.`);
		}
		if (programme !== undefined) return succeed(programme);
		return refuseProgramme(
			text === ""
				? "The programme is missing. Write its name, or its ID."
				: `There is no programme “${text}”. Import the programmes first, or correct the name.`,
		);
	};
}

function refuseProgramme(detail: string): ReturnType<typeof refuse> {
	return refuse("unknown_programme", detail, "programme");
}

/**
 * Finds the programmes of a list with one name or ID on each line, as people paste it or save it from a spreadsheet.
 * The whole list is refused if it has more than `most` lines, or if a programme is unknown.
 */
export async function findListedProgrammes(
	db: Db,
	text: string,
	most = Number.POSITIVE_INFINITY,
): Promise<Result<Programme[]>> {
	const lines = text.split(/[\r\n]+/).map((line) => line.trim().replace(/^"(.*)"$/, "$1"));
	// The first line may be the title of a spreadsheet column.
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

/**
 * Maximum number of characters of a line that are looked up and quoted in a refusal. All names of programmes are
 * shorter.
 */
const MAX_NAME_CHARACTERS = 200;
