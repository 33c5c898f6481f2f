// Facts about the last successful backup, and about the last failed backup if none has succeeded since.

export function recordedBackups(): readonly string[] {
	return [
		"alter table network add column backup_bytes bigint",
		"alter table network add column backup_note text",
		"alter table network add column backup_failed_at_ms bigint",
		"alter table network add column backup_failure text",
	];
}
