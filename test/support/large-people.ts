// The people of large-tables, and how a table is described that is to be filled.

export interface Filling {
	table: string;
	rows?: number;
	/** The value of each column, in SQL over the row's number `i`. */
	columns: Readonly<Record<string, string | number>>;
}

const MOMENT = "'2026-01-01T00:00:00Z'";

export function peopleFillings(people: number, programmes: number): readonly Filling[] {
	return [
		{
			table: "people",
			rows: people,
			columns: {
				id: "i",
				public_id: "'usr' || i",
				email: "i || '@shop.example'",
				kind: "case when i % 500 = 0 then 'staff' else 'shop' end",
				created_at_ms: 0,
			},
		},
		{
			table: "programme_people",
			rows: 1_000,
			columns: { programme_id: `1 + i % ${programmes}`, person_id: "i", role: "'owner'" },
		},
		{
			table: "links",
			rows: people,
			columns: {
				public_id: "'lnk_' || i",
				purpose: "'programme_invitation'",
				token_hash: "'t' || i",
				person_id: "i",
				created_at_ms: 0,
				expires_at_ms: 1,
			},
		},
		{
			table: "auth_users",
			rows: people,
			columns: {
				id: "'usr' || i",
				name: "'X'",
				email: "i || '@shop.example'",
				'"emailVerified"': "1 = 1",
				'"createdAt"': MOMENT,
				'"updatedAt"': MOMENT,
			},
		},
		{
			table: "auth_accounts",
			rows: people,
			columns: {
				id: "'usr' || i",
				'"accountId"': "'usr' || i",
				'"providerId"': "'credential'",
				'"userId"': "'usr' || i",
				password: "'hash'",
				'"createdAt"': MOMENT,
				'"updatedAt"': MOMENT,
			},
		},
	];
}
