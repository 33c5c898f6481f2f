// Migrations that no program has: what a database goes through when its schema changes under people's hands.

import { MIGRATIONS, type Migration } from "../../src/store/migrations.ts";

export const GADGETS = 20_500;

/** A table with rows enough for many batches. */
const GADGET_TABLE: Migration = {
	name: "gadgets",
	isBreaking: false,
	steps: () => [
		{
			kind: "statements",
			statements: [
				"create table gadgets (id integer primary key, size integer not null)",
				`insert into gadgets with recursive n(i) as (select 1 union all select i + 1 from n where i < ${GADGETS})
					select i, i % 100 from n`,
			],
		},
	],
};

/** Filled by adding: a row that was filled twice shows it. */
const GADGET_WEIGHT: Migration = {
	name: "the weight of gadgets",
	isBreaking: false,
	steps: () => [
		{ kind: "statements", statements: ["alter table gadgets add column weight integer not null default 0"] },
		{ kind: "index", name: "gadgets_by_size", on: "gadgets (size)" },
		{ kind: "backfill", table: "gadgets", key: "id", set: "weight = weight + size * 2 + 1" },
		{ kind: "statements", statements: ["create table gadget_makers (id integer primary key)"] },
	],
};

export const WITH_GADGETS: readonly Migration[] = [...MIGRATIONS, GADGET_TABLE];
export const WITH_WEIGHT: readonly Migration[] = [...WITH_GADGETS, GADGET_WEIGHT];
