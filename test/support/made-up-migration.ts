// Provides a second migration for tests, appended to the list as a later release would do.

import { MIGRATIONS, type Migration } from "#core/store/schema/migrations.ts";

export const MADE_UP_MIGRATION: Migration = {
	name: "programmes have a note",
	isBreaking: false,
	statements: ({ generatedId }) => [
		"alter table programmes add column note text",
		`create table programme_notes (
			id ${generatedId},
			programme_id bigint not null,
			note text not null
		)`,
		"insert into programme_notes (programme_id, note) select id, name from programmes",
	],
};

export const WITH_MADE_UP: readonly Migration[] = [...MIGRATIONS, MADE_UP_MIGRATION];
