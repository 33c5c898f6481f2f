// Words for a shell.

export function quote(word: string): string {
	return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
