// A key as people tell it from others, in the audit log and in mails: its last characters, and what they call it.

export interface KeyLabel {
	/** "rbk_…1a2b" */
	shown: string;
	name: string;
}

export function showKey(hint: string): string {
	return `rbk_…${hint}`;
}

/** "rbk_…1a2b Shop server": one text, because an audit entry has one for what it is about. */
export function writeKeyLabel({ hint, name }: { hint: string; name: string }): string {
	return `${showKey(hint)} ${name}`;
}

export function readKeyLabel(text: string): KeyLabel {
	const [shown = ""] = text.split(" ", 1);
	return { shown, name: text.slice(shown.length + 1) };
}
