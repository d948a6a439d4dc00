export interface PageQuery {
  limit: number
  cursor: string | null
}
