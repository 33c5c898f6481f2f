// The files that import a module although the import law forbids it, with the reason and what would remove the import.
// import-law.ts fails if a line is no longer needed, so the list only becomes shorter. Add nothing here. Use a list that
// modules.ts or site-modules.ts joins instead.

interface Group {
	reason: string;
	/** The modules that each file may import besides those that the law allows. */
	files: Readonly<Record<string, readonly string[]>>;
}

export const EXCEPTIONS: readonly Group[] = [
	{
		reason:
			"The end of a person's access stops their jobs in the same transaction, between their sign-in links and their keys. A list of what modules end would have to pass through every use case that ends access, and it would have this one entry.",
		files: {
			"src/core/people/end-access.ts": ["jobs"],
		},
	},
	{
		reason:
			"The signed API takes clicks, codes and refunds, and its answers say what became of them. The fields are in the modules, and the calls name them. A table of calls could let modules add both.",
		files: {
			"src/core/api/answers.ts": ["refunds", "partners"],
			"src/core/api/get-conversions.ts": ["refunds"],
			"src/core/api/post-conversions.ts": ["partners"],
			"src/core/api/post-decisions.ts": ["refunds"],
		},
	},
	{
		reason:
			"Lists, totals and exports of conversions have columns, filters and sums of partners. Modules could add columns and filters.",
		files: {
			"src/core/conversions/export.ts": ["partners"],
			"src/core/conversions/tally.ts": ["partners"],
			"src/core/store/queries/conversion-list.ts": ["partners"],
			"src/core/web/conversions/list-page.ts": ["partners"],
			"src/core/web/conversions/list-query.ts": ["partners"],
		},
	},
	{
		reason:
			"A page shows sections and links of modules. Modules could add sections, as they add menu entries.",
		files: {
			"src/core/web/conversions/conversion-page.ts": ["refunds", "partners"],
			"src/core/web/conversions/decide-action.ts": ["jobs"],
			"src/core/web/integration/inbound-page.ts": ["partners"],
			"src/core/web/integration/keys-page.ts": ["partners"],
			"src/core/web/network/network-page.ts": ["partners", "accounts"],
			"src/modules/accounts/web/list-page.ts": ["jobs"],
		},
	},
	{
		reason:
			"The audit log names the job that an entry is about. Modules could add the names of what their entries are about.",
		files: {
			"src/core/store/queries/audit-list.ts": ["jobs"],
			"src/core/web/system/audit-page.ts": ["jobs"],
		},
	},
	{
		reason:
			"The dependencies of the signed API have the counts of clicks, which its process writes. The module could add them by declaration merging, as it adds those of its pages.",
		files: {
			"src/core/api/deps.ts": ["partners"],
		},
	},
	{
		reason:
			"A test conversion reports a coupon code of the programme, if there is one, so that the test shows a partner. The page could be told the code, but only by a dependency that nothing else needs.",
		files: {
			"src/core/programmes/test-conversion.ts": ["partners"],
		},
	},
	{
		reason:
			"A partner is archived only when its account is settled, so the use case reads balances. Archiving a partner could move to accounts, where nobody would look for it.",
		files: {
			"src/modules/partners/use-cases/archive.ts": ["accounts"],
		},
	},
];
