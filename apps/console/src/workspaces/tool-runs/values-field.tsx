import { TextField, type TextFieldProps } from '../../design/field';
import { typedValues } from '../parts/typed';

/** A field for values of variables, as in a `.tfvars` file. */
export function ValuesField({ error, ...field }: Pick<TextFieldProps, 'value' | 'onChange' | 'error' | 'hint'>) {
  const wrong = valuesProblem(field.value) ?? error;
  return <TextField label="Variables" rows={3} placeholder={'region = "eu-1"'} error={wrong} {...field} />;
}

/** The error in typed variables; undefined if they are valid. */
export const valuesProblem = (text: string): string | undefined =>
  typedValues(text) === undefined ? 'Write one variable per line, such as region = "eu-1".' : undefined;
