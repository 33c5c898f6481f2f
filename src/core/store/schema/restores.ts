// Restores of the database. Payments that were recorded between the backup and its restore are unknown.

/**
 * Returns the SQL of the migration. `ringback restore` also creates the table in a restored backup of an earlier
 * schema, so the table may already exist.
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
