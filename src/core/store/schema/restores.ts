// Restores of the database, after which payments are unknown that were recorded since the backup.

/**
 * Returns the SQL of the migration. `ringback restore` creates the table, too, in a backup of an earlier schema, so it may
 * exist already.
 */
export function restoresTable({ generatedId }: { generatedId: string }): readonly string[] {
	return [
		`create table if not exists restores (
			id ${generatedId},
			as_of_ms bigint not null,
			restored_at_ms bigint not null,
			compared_at_ms bigint,
			compared_by bigint
		)`,
	];
}
