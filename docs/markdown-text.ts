// Writes the pieces of Markdown of which generated parts and pages are made.

export function fence(language: string, text: string): string {
	return `\`\`\`${language}\n${text}\n\`\`\``;
}

export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
	const line = (cells: readonly string[]) =>
		`| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
	return [line(titles), line(titles.map(() => "---")), ...rows.map(line)].join("\n");
}
