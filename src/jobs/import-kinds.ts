// The three kinds of files, by their names.

import { CONVERSIONS_IMPORT } from "./import-conversions.ts";
import type { ImportKind, ImportKindName } from "./import-kind.ts";
import { PEOPLE_IMPORT } from "./import-people.ts";
import { PROGRAMMES_IMPORT } from "./import-programmes.ts";

const KINDS: Readonly<Record<ImportKindName, ImportKind>> = {
	programmes: PROGRAMMES_IMPORT,
	people: PEOPLE_IMPORT,
	conversions: CONVERSIONS_IMPORT,
};

export function importKind(name: ImportKindName): ImportKind {
	return KINDS[name];
}
