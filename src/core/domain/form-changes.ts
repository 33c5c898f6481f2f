// Finds which fields of a form a person has changed, even if another person saved the same form meanwhile.

export interface FormChanges<Name extends string> {
	/** Fields that the person changed and whose stored value differs from what they want. */
	changed: readonly Name[];
	/**
	 * Changed fields whose stored value is no longer the one that the form showed, because somebody else has
	 * changed it.
	 */
	overtaken: readonly Name[];
}

/**
 * Compares three sets of values: those that the form showed, those that the person wants and those that are stored. A
 * field that the person did not touch is never changed, even if somebody else has changed it since. The same holds
 * for a field that is undefined in `wanted`, because the form or the call did not contain it.
 */
export function compareForm<Name extends string>(
	names: readonly Name[],
	{
		shown,
		wanted,
		stored,
	}: {
		shown: Readonly<Record<Name, unknown>>;
		wanted: Readonly<Partial<Record<Name, unknown>>>;
		stored: Readonly<Record<Name, unknown>>;
	},
): FormChanges<Name> {
	const touched = names.filter((name) => wanted[name] !== undefined && wanted[name] !== shown[name]);
	const changed = touched.filter((name) => wanted[name] !== stored[name]);
	return { changed, overtaken: changed.filter((name) => stored[name] !== shown[name]) };
}
