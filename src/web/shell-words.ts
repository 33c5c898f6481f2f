// Words for a POSIX shell, in lines that people paste.

/** One word of it. Nothing within single quotes means anything, but for the quote itself. */
export function quote(word: string): string {
	return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
