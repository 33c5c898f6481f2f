// A moment in words, for readers whose zone is not known: mails, and sentences of the API.

/** "2026-03-01 12:00 UTC". */
export function utcMinute(atMs: number): string {
	return `${new Date(atMs).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
