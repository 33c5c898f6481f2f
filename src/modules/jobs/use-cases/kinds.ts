// The table of all kinds of jobs by name.

import type { JobKindName } from "../store/tables.ts";
import { CODES_IMPORT } from "./codes.ts";
import { DECISIONS } from "./decisions.ts";
import { CONVERSIONS_IMPORT } from "./history.ts";
import type { ImportKind, JobKind } from "./kind.ts";
import { LINKS_IMPORT } from "./links.ts";
import { OPEN_CONVERSIONS_IMPORT } from "./open-conversions.ts";
import { PARTNERS_IMPORT } from "./partners.ts";
import { PAYMENTS } from "./payments.ts";
import { PEOPLE_IMPORT, PROGRAMMES_IMPORT } from "./programmes.ts";
import { STATEMENTS } from "./statements.ts";

/**
 * Kinds of imports in the order in which a network must import them, because each kind refers to the ones
 * before.
 */
export const IMPORT_KINDS = [
	"programmes",
	"people",
	"partners",
	"links",
	"codes",
	"conversions",
	"open-conversions",
] as const;
export type ImportKindName = (typeof IMPORT_KINDS)[number];

export const JOB_KINDS: Readonly<Record<JobKindName, JobKind> & Record<ImportKindName, ImportKind>> = {
	decisions: DECISIONS,
	programmes: PROGRAMMES_IMPORT,
	people: PEOPLE_IMPORT,
	partners: PARTNERS_IMPORT,
	links: LINKS_IMPORT,
	codes: CODES_IMPORT,
	conversions: CONVERSIONS_IMPORT,
	statements: STATEMENTS,
	payments: PAYMENTS,
	"open-conversions": OPEN_CONVERSIONS_IMPORT,
};
