// The programmes that the lines of a file speak of: by their ids, or by their names as people read them.

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

export async function findNamedProgrammes(db: Db, named: readonly string[]): Promise<NamedProgrammes> {
	const distinct = [...new Set(named)];
	const ids = distinct.filter((text) => PROGRAMME_ID.test(text));
	const names = distinct.flatMap((text) => parseName(text) ?? []);
	const byId = new Map((await findProgrammesByPublicId(db, ids)).map((found) => [found.public_id, found]));
	const byName = Map.groupBy(await findProgrammesByName(db, names), ({ name }) => name);
	return (text) => {
		const known = byId.get(text);
		if (known !== undefined) return succeed(known);
		const [programme, another] = byName.get(parseName(text) ?? "") ?? [];
		if (another !== undefined) {
			return refuseProgramme(`Several programmes are called “${text}”. Write the id, prg_…, instead.`);
		}
		if (programme !== undefined) return succeed(programme);
		return refuseProgramme(
			text === ""
				? "The programme is missing. Write its name, or its id."
				: `There is no programme “${text}”. Import the programmes first, or correct the name.`,
		);
	};
}

function refuseProgramme(detail: string): ReturnType<typeof refuse> {
	return refuse("unknown_programme", detail, "programme");
}
