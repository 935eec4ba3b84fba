import { TextField, type TextFieldProps } from '../../design/field';
import { typedValues } from '../parts/typed';

/** Values of variables as people write them into a file. */
export function ValuesField({ error, ...field }: Pick<TextFieldProps, 'value' | 'onChange' | 'error' | 'hint'>) {
  const wrong = valuesProblem(field.value) ?? error;
  return <TextField label="Variables" rows={3} placeholder={'region = "eu-1"'} error={wrong} {...field} />;
}

/** What is wrong with such values; undefined for nothing. */
export const valuesProblem = (text: string): string | undefined =>
  typedValues(text) === undefined ? 'Write one variable per line, such as region = "eu-1".' : undefined;
