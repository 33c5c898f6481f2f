// What a person changed in a form that others may have saved while it was open.

export interface FormChanges<Name extends string> {
	/** Fields that the person changed and whose stored value differs from what they want. */
	changed: readonly Name[];
	/** Those of them whose stored value is not the one that the form showed, because somebody else has changed it since. */
	overtaken: readonly Name[];
}

/** A field that the person left as it was shown is never changed, even if somebody else has changed it since. */
export function compareForm<Name extends string>(
	names: readonly Name[],
	{ shown, wanted, stored }: Record<"shown" | "wanted" | "stored", Readonly<Record<Name, unknown>>>,
): FormChanges<Name> {
	const changed = names.filter((name) => wanted[name] !== shown[name] && wanted[name] !== stored[name]);
	return { changed, overtaken: changed.filter((name) => stored[name] !== shown[name]) };
}
